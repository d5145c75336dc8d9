// A check of a TrainConfig that a program filled, against the bounds that flags have on a command line.
#pragma once
#include "recipes/config/train_config.h"
#include "recipes/task/rules.h"

namespace kb {

// Throws UsageError, which names the member, if its flag would refuse its value, or if it is a switch that has no
// effect without another flag. `own` are the task's own rules. A member without a value is not checked.
void check_values(const TrainConfig& config, const Rules& own);

}  // namespace kb
