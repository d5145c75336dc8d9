// Values of a RunConfig that a program made, held against the bounds that the flags have on a command line.
#pragma once
#include <vector>

#include "optim/optimizer.h"
#include "recipes/config/run_config.h"

namespace kb {

// Throws UsageError where the flag of a member would refuse its value, and where one that is switched on has no effect
// without another. `optimizers`: the task's own. Names of data sets, files and folders are not looked at, nor is a
// member without a value.
void check_values(const RunConfig& config, const std::vector<Optimizer>& optimizers);

}  // namespace kb
