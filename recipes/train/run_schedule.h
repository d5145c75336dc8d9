// Learning rate and other scalars of each step of a run: those of its schedule, in which a step goes on by one, or with
// AdaScale by its gain (optim/adascale.h).
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "optim/adascale.h"
#include "optim/optimizer.h"
#include "recipes/config/plan.h"

namespace kb {

class RunSchedule {
 public:
  // `adascale`: nothing: every step goes on by one.
  RunSchedule(StepScalars scalars, std::optional<AdaScale> adascale)
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
  const StepScalars& scalars() const { return scalars_; }

 private:
  SchedulePlace place(int64_t step) const;
  double total() const { return static_cast<double>(scalars_.rate().spec().total_steps); }

  StepScalars scalars_;
  std::optional<AdaScale> adascale_;
};

// `step` of the run, and what state() gave there; "" at the begin of a run, and without AdaScale. Throws Error where
// AdaScale lacks its state, or has it where it is not asked for.
RunSchedule make_run_schedule(const std::vector<Optimizer>& own, const Learning& learning, const BatchPlan& batch,
                              const RunPlan& plan, int64_t step, const std::string& state);

}  // namespace kb
