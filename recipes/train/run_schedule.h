// Gives each step of a run its learning rate and other scalars, from the run's place in its schedule. A step advances
// the place by one or, with AdaScale, by the step's gain (optim/adascale.h).
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "optim/adascale.h"
#include "recipes/config/plan.h"
#include "recipes/train/run_scalars.h"

namespace kb {

// An update of the parameters. A step is one, or several if an order applies its gradients one by one.
struct Update {
  int64_t step = 0;         // step of the run that it belongs to
  int64_t step_before = 0;  // step that the update before it belongs to; 0 for the first
  int64_t done = 0;         // number of updates before it that the optimizer's slots have gathered
};

class RunSchedule {
 public:
  // Without `adascale` every step advances the schedule by one step. `ahead`: see ahead().
  RunSchedule(RunScalars scalars, std::optional<AdaScale> adascale, int64_t ahead = 0)
      : scalars_(std::move(scalars)), adascale_(std::move(adascale)), ahead_(ahead) {}

  // Returns the update that a step is.
  Update update_of(int64_t step) const { return {step, std::max<int64_t>(step - 1, 0), step + ahead_}; }
  // Returns the number of updates that the optimizer's slots have gathered beyond those of the steps before. It is not
  // 0 in a branch whose steps before are of another minibatch than those of the run that took them.
  int64_t ahead() const { return ahead_; }
  // These functions give the scalars, the first group's learning rate, AdaScale's gain and place (nothing without
  // AdaScale), and the whole steps of the schedule before `step`. With AdaScale they know only the steps around the one
  // whose norms are next (AdaScale::at).
  std::span<const NamedScalar> at(const Update& update);
  double rate(int64_t step) const;
  std::optional<ScaledStep> scaled(int64_t step) const;
  int64_t position(int64_t step) const { return place(step).step; }
  // Returns whether the schedule ends with the first `done` steps.
  bool is_over(int64_t done) const;
  // Returns the number of steps from `done` to the end of the schedule, if AdaScale's gain stays as it is.
  int64_t steps_left(int64_t done) const;

  // Takes the gradient norms of the next step. AdaScale needs them; without AdaScale they are ignored.
  void take(const std::optional<GradientNorms>& norms);
  std::string state() const { return adascale_ ? adascale_->state() : ""; }
  const RunScalars& scalars() const { return scalars_; }
  std::span<const NamedScalar> group_rates(int64_t step) { return scalars_.rates(step); }  // see RunScalars::rates

 private:
  SchedulePlace place(int64_t step) const;
  double total() const { return static_cast<double>(scalars_.rate().spec().total_steps); }

  RunScalars scalars_;
  std::optional<AdaScale> adascale_;
  int64_t ahead_;
};

// Returns the schedule of a run at `step`. `state` is the text that state() returned at that step; it is empty at the
// begin of a run and without AdaScale. `ahead`: see RunSchedule::ahead(). `groups` tells how each group learns; a
// single group may lack a name. Throws Error if the state is missing with AdaScale, or given without AdaScale; for
// AdaScale with several groups; and for a schedule-free optimizer with AdaScale, or where an order applies the
// gradients.
RunSchedule make_run_schedule(const Rules& own, const std::vector<GroupLearning>& groups, const BatchPlan& batch,
                              const RunPlan& plan, int64_t step, const std::string& state, int64_t ahead = 0);

}  // namespace kb
