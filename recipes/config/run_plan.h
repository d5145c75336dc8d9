// The plan that a RunConfig gives before the machine is known, and the forms of a RunConfig that are recorded.
#pragma once
#include "recipes/config/plan.h"
#include "recipes/config/run_config.h"

namespace kb {

// Returns how the workers and the machine.processes processes share a step. Throws Error if the numbers do not divide
// each other.
BatchPlan batch_plan(const RunConfig& config);
// Returns the plan of a training on `samples` samples. Throws Error as make_plan() of config/plan.h does.
RunPlan make_plan(const RunConfig& config, int64_t samples);

// Returns the configuration with absolute paths of the files that are read, which are valid in every working folder.
RunConfig with_absolute_paths(RunConfig config);
// Returns the configuration with the plan's samples per worker as batch.per_worker and without groups of batch norm, so
// that equal plans are recorded by equal flags.
RunConfig with_plan(RunConfig config);

}  // namespace kb
