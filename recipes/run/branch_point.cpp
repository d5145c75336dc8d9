#include "recipes/run/branch_point.h"

#include <fmt/format.h>

namespace kb {

int64_t steps_done(const BranchPoint& point, const RunPlan& plan) {
  const int64_t step = point.checkpoint.step;
  const bool is_alike = plan.steps_per_epoch == point.steps_per_epoch;
  if (!is_alike && point.has_grown)
    throw Error(fmt::format("{}: the minibatch of {} grows: expected its own --minibatch here", "--branch",
                            point.run.string()));
  if (!is_alike && step % point.steps_per_epoch != 0)
    throw Error(fmt::format(
        "{}: an epoch has {} steps here and {} in {}: expected a checkpoint at the end of an epoch, got one "
        "after {:.4g} epochs",
        "--branch", plan.steps_per_epoch, point.steps_per_epoch, point.run.string(),
        static_cast<double>(step) / static_cast<double>(point.steps_per_epoch)));
  if (!point.has_grown && !plan.grown.empty() && plan.grown.front().begin_step < step)
    throw Error(fmt::format("{}: --minibatch-schedule: expected growths from step {} on, got one at step {}",
                            "--branch", step, plan.grown.front().begin_step));
  const int64_t done = is_alike ? step : plan.steps_in(static_cast<double>(step / point.steps_per_epoch));
  if (done > plan.steps)
    throw Error(fmt::format("{}: {} steps are done already, of which the flags given ask for {}", "--branch", done,
                            plan.steps));
  return done;
}

}  // namespace kb
