// The flag --groups: how groups of parameters learn that do not learn as the other flags say
// (TrainConfig::group_learning).
#pragma once
#include "recipes/config/flag_rows.h"

namespace kb {

// The row reads "NAME FLAG VALUE ...; NAME ...", as "discriminator --lr 1e-4 --beta1 0.5; generator --lr 2e-4". A flag
// that is not given to a group is that of the command line.
FlagRow groups_row(const Recipe& recipe);

// Has the groups of `config` follow its flags again, where these were read after the groups: each group keeps the flags
// that it was given beside `before`, the configuration at that time.
void follow_flags(const Recipe& recipe, const RunConfig& before, RunConfig& config);

}  // namespace kb
