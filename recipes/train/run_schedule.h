// Learning rate and other scalars of each step of a run: those of its schedule, in which a step goes on by one, or with
// AdaScale by its gain (optim/adascale.h).
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "optim/adascale.h"
#include "recipes/config/plan.h"
#include "recipes/train/run_scalars.h"

namespace kb {

class RunSchedule {
 public:
  // Without `adascale` every step advances the schedule by one step.
  RunSchedule(RunScalars scalars, std::optional<AdaScale> adascale)
      : scalars_(std::move(scalars)), adascale_(std::move(adascale)) {}

  // With AdaScale these know the steps around the one whose norms are next (AdaScale::at).
  std::span<const NamedScalar> at(int64_t step);
  double rate(int64_t step) const;
  std::optional<ScaledStep> scaled(int64_t step) const;  // nothing without AdaScale
  int64_t position(int64_t step) const { return place(step).step; }
  bool is_over(int64_t done) const;
  // Steps to the end after `done`, where the gain stays as it is.
  int64_t steps_left(int64_t done) const;

  // Takes the norms of the next step, where the run reads them.
  void take(const std::optional<GradientNorms>& norms);
  std::string state() const { return adascale_ ? adascale_->state() : ""; }
  const RunScalars& scalars() const { return scalars_; }
  std::span<const NamedScalar> group_rates(int64_t step) { return scalars_.rates(step); }  // see RunScalars::rates

 private:
  SchedulePlace place(int64_t step) const;
  double total() const { return static_cast<double>(scalars_.rate().spec().total_steps); }

  RunScalars scalars_;
  std::optional<AdaScale> adascale_;
};

// `step` of the run, and what state() gave there; "" at the begin of a run, and without AdaScale. Throws Error where
// AdaScale lacks its state, or has it where it is not asked for, and for AdaScale beside several groups. `groups`: how
// each learns; a single one has no need of a name.
RunSchedule make_run_schedule(const Rules& own, const std::vector<GroupLearning>& groups, const BatchPlan& batch,
                              const RunPlan& plan, int64_t step, const std::string& state);

}  // namespace kb
