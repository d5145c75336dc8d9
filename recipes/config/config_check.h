// Values of a TrainConfig that a program made, held against the bounds that the flags have on a command line.
#pragma once
#include <vector>

#include "optim/optimizer.h"
#include "recipes/config/train_config.h"

namespace kb {

// Throws UsageError, naming the member, where its flag would refuse its value, and where one that is switched on has no
// effect without another. `optimizers`: the task's own. A member without a value is not looked at.
void check_values(const TrainConfig& config, const std::vector<Optimizer>& optimizers);

}  // namespace kb
