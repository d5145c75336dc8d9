// The plan that a command line's words give before the machine is known, and the words under which a run is recorded.
#pragma once
#include "recipes/config/plan.h"
#include "recipes/config/run_config.h"

namespace kb {

// Returns how workers and the processes that machine.processes names share a step. Throws Error where the numbers do
// not divide.
BatchPlan batch_plan(const RunConfig& config);
// Throws as make_plan of a TrainConfig.
RunPlan make_plan(const RunConfig& config, int64_t samples);

// Makes the paths of what is read absolute, so that they mean the same in every folder.
RunConfig with_absolute_paths(RunConfig config);
// Returns the configuration with the plan's n as batch.per_worker and without groups of batch norm: each plan has one
// set of words.
RunConfig with_plan(RunConfig config);

}  // namespace kb
