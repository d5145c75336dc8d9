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

// Returns the number of steps of `plan` that are done at the point: that of the other run or, if its epochs up to there
// have other numbers of steps, that of as many epochs. Throws Error if the latter are no whole number, or if the plan
// ends before.
int64_t steps_done(const BranchPoint& point, const RunPlan& plan);

}  // namespace kb
