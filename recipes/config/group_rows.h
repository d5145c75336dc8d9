// The flag --groups, which gives groups of parameters an optimizer or a learning rate of their own
// (TrainConfig::group_learning).
#pragma once
#include "recipes/config/flag_rows.h"

namespace kb {

// The row reads "NAME FLAG VALUE ...; NAME ...", such as "discriminator --lr 1e-4 --beta1 0.5; generator --lr 2e-4". A
// group takes every flag that it is not given from the command line.
FlagRow groups_row(const Recipe& recipe);

// Derives the groups of `config` anew after its other flags have changed. `before` is the configuration before the
// change: a group keeps the flags by which it differs from `before`, and takes all other flags from `config`.
void follow_flags(const Recipe& recipe, const RunConfig& before, RunConfig& config);

}  // namespace kb
