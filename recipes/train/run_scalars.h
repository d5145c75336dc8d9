// The scalar inputs of each training step, such as the learning rate, for every group of parameters
// (TrainConfig::group_learning) that learns. If there are several groups, the compiler expects a group's name before
// the names of its scalars: "generator.learning_rate". The rest, which has no name, has "learning_rate".
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/config/learning.h"

namespace kb {

// Returns the prefix of the scalars of a group, of a run with so many groups.
std::string scalar_prefix(const std::string& group, size_t groups);

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

}  // namespace kb
