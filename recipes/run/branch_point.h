// A state of another run with which a run begins (--branch).
#pragma once
#include <filesystem>

#include "recipes/config/plan.h"
#include "runtime/checkpoint.h"

namespace kb {

struct BranchPoint {
  std::filesystem::path run;
  Checkpoint checkpoint;
  RunPlan plan;  // steps and epochs of that run; its number of samples is not known
};

// Returns the number of steps of `plan` that count as done at the point. It is the other run's number of steps if both
// plans have the same steps per epoch up to there, else the steps of `plan` in as many epochs. Throws Error if these
// epochs are no whole number, or if the plan is shorter.
int64_t steps_done(const BranchPoint& point, const RunPlan& plan);

}  // namespace kb
