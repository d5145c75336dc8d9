#include "recipes/run/branch_point.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {

namespace {

// Returns whether all epochs before `step` have the same number of steps in both plans.
bool count_alike(const RunPlan& a, const RunPlan& b, int64_t step) {
  const size_t phases = a.phase_of(std::max<int64_t>(step - 1, 0));
  if (phases != b.phase_of(std::max<int64_t>(step - 1, 0))) return false;
  for (size_t number = 0; number <= phases; ++number)
    if (a.phase(number).begin_step != b.phase(number).begin_step ||
        a.phase(number).steps_per_epoch != b.phase(number).steps_per_epoch ||
        a.phase(number).rest_steps != b.phase(number).rest_steps)
      return false;
  return true;
}

}  // namespace

int64_t steps_done(const BranchPoint& point, const RunPlan& plan) {
  const int64_t step = point.checkpoint.step;
  const bool is_alike = count_alike(plan, point.plan, step);
  if (!is_alike && point.plan.epoch_begin(step) != step)
    throw Error(fmt::format(
        "--branch: an epoch has {} steps here and {} in {}: expected a checkpoint at the end of an epoch, got one "
        "after {:.4g} epochs",
        plan.phase(plan.phase_of(step)).steps_per_epoch, point.plan.phase(point.plan.phase_of(step)).steps_per_epoch,
        point.run.string(), point.plan.epochs(step)));
  const int64_t done = is_alike ? step : plan.steps_in(point.plan.epochs(step));
  if (done > plan.steps)
    throw Error(
        fmt::format("--branch: {} steps are done already, of which the flags given ask for {}", done, plan.steps));
  return done;
}

}  // namespace kb
