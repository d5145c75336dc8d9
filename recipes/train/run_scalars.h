// Scalars of each step of a run: those of every group of parameters (TrainConfig::group_learning). If there are several
// groups, a group's name stands before its scalars, as the compiler asks for: "generator.learning_rate".
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/config/learning.h"

namespace kb {

class RunScalars {
 public:
  // `groups`: at least one.
  RunScalars(const Rules& own, const std::vector<GroupLearning>& groups, const RunPlan& plan);

  // Return the scalars of a step, as StepScalars::at does; they allocate nothing.
  std::span<const NamedScalar> at(int64_t step);
  std::span<const NamedScalar> at(int64_t step, const SchedulePlace& place, const SchedulePlace& before);
  // Returns scalars that stay as they are: thresholds of clipping, decays of averages.
  const std::vector<NamedScalar>& constants() const { return constants_; }
  // Returns the learning rate of the first group.
  const LearningRate& rate() const { return groups_.front().scalars.rate(); }
  // Returns the learning rate of each group at a step, by names "lr.GROUP"; nothing if there is one group.
  std::span<const NamedScalar> rates(int64_t step);

 private:
  struct Group {
    std::string prefix;  // "generator."; empty: there is no other group
    StepScalars scalars;
  };
  std::vector<Group> groups_;
  std::vector<NamedScalar> all_, constants_, rates_;
};

}  // namespace kb
