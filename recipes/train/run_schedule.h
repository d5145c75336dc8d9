// Gives each step of a run its learning rate and other scalars, from the run's place in its schedule. A step advances
// the place by one or, with AdaScale, by the step's gain (optim/adascale.h).
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/adascale.h"
#include "recipes/config/learning.h"
#include "recipes/config/plan.h"
#include "runtime/sha256.h"

namespace kb {

// Returns the prefix of the scalars of a group, of a run with so many groups.
std::string scalar_prefix(const std::string& group, size_t groups);

// The scalar inputs of each training step, such as the learning rate, for every group of parameters
// (TrainConfig::group_learning) that learns. If there are several groups, the compiler expects a group's name before
// the names of its scalars: "generator.learning_rate". The rest, which has no name, has "learning_rate".
class RunScalars {
 public:
  // `groups` are those of learning_of_groups(), at least one of which learns.
  RunScalars(const Rules& own, const std::vector<GroupLearning>& groups, const RunPlan& plan);

  // Return the scalars of a step or an update, as StepScalars::at() does for one group. Both allocate nothing.
  std::span<const NamedScalar> at(int64_t step);
  std::span<const NamedScalar> at(int64_t done, const SchedulePlace& place, const SchedulePlace& before);
  // Returns the scalars that are the same in all steps: thresholds of gradient clipping, decays of parameter averages.
  const std::vector<NamedScalar>& constants() const { return constants_; }
  // Returns the learning rate of the first group.
  const LearningRate& rate() const { return groups_.front().scalars.rate(); }
  // Returns the learning rates of the groups at a step, under the names "lr.GROUP", without that of the rest; nothing
  // if there is one group.
  std::span<const NamedScalar> rates(int64_t step);

 private:
  struct Group {
    std::string prefix;  // such as "generator."; empty for the rest, and if there is one group
    StepScalars scalars;
  };
  std::vector<Group> groups_;
  std::vector<NamedScalar> all_, constants_, rates_;
};

// An update of the parameters. A step is one, or several if an order applies its gradients one by one.
struct Update {
  int64_t step = 0;         // step of the run that it belongs to
  int64_t step_before = 0;  // step that the update before it belongs to; 0 for the first
  int64_t done = 0;         // number of updates before it that the optimizer's slots have gathered
};

class RunSchedule {
 public:
  // Begins at step 0. Without `adascale` every step advances the schedule by one step.
  RunSchedule(RunScalars scalars, std::optional<AdaScale> adascale)
      : scalars_(std::move(scalars)), adascale_(std::move(adascale)) {}
  // Goes to `step`. `state` is the text that state() returned at that step; it is empty at the begin of a run and
  // without AdaScale. `ahead`: see ahead(). Throws Error if the state is missing with AdaScale, or given without it.
  void go_to(int64_t step, const std::string& state, int64_t ahead = 0);

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
  int64_t ahead_ = 0;
};

// Returns the schedule of a run, at step 0. `groups` tells how each group learns; a single group may lack a name.
// Throws Error for AdaScale with several groups; and for a schedule-free optimizer with AdaScale, or where an order
// applies the gradients.
RunSchedule make_run_schedule(const Rules& own, const std::vector<GroupLearning>& groups, const BatchPlan& batch,
                              const RunPlan& plan);

// Computes SHA-256 over the scalars of the schedule's first steps. Two schedules have the same hash if they agree in
// all steps so far. With AdaScale these are steps of the schedule, not of the run.
class ScheduleHash {
 public:
  explicit ScheduleHash(RunScalars scalars) : scalars_(std::move(scalars)) {}
  // Returns the hash, in hexadecimal, of the first `step` steps. `step` must not decrease from call to call.
  std::string up_to(int64_t step);

 private:
  RunScalars scalars_;
  Sha256 hash_;
  int64_t next_ = 0;  // first step that is not hashed yet
};

}  // namespace kb
