// A state of another run, which a run begins with (--branch).
#pragma once
#include <filesystem>

#include "recipes/config/plan.h"
#include "runtime/checkpoint.h"

namespace kb {

struct BranchPoint {
  std::filesystem::path run;
  Checkpoint checkpoint;
  RunPlan plan;  // steps and epochs of that run; its samples are not known
};

// Returns the steps of `plan` that are done at the point: those of the other run, or as many epochs where its epochs up
// to there have other numbers of steps. Throws Error where these are no whole number, and where the plan ends before.
int64_t steps_done(const BranchPoint& point, const RunPlan& plan);

}  // namespace kb
