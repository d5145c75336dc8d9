// Values of a TrainConfig that a program made, held against the bounds that the flags have on a command line.
#pragma once
#include "recipes/config/train_config.h"
#include "recipes/task/rules.h"

namespace kb {

// Throws UsageError, naming the member, where its flag would refuse its value, and where one that is switched on has no
// effect without another. `own`: the task's rules. A member without a value is not looked at.
void check_values(const TrainConfig& config, const Rules& own);

}  // namespace kb
