// The flag --groups: how groups of parameters learn that do not learn as the other flags say (TrainConfig::groups).
#pragma once
#include "recipes/config/flag_rows.h"

namespace kb {

// The row reads "NAME FLAG VALUE ...; NAME ...", as "discriminator --lr 1e-4 --beta1 0.5; generator --lr 2e-4". A flag
// that is not given to a group is that of the command line.
FlagRow groups_row(const Recipe& recipe);

}  // namespace kb
