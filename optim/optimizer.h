// Optimizers. Each is a row of one table: an update rule, the numbers that it takes, and the scalars that it reads each
// step. A user writes a row in the recipe's own file.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/update_rule.h"
#include "optim/schedule.h"

namespace kb {

struct NamedScalar {
  std::string name;
  double value = 0;
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A number that a recipe or the command line may set. The rule reads it as the scalar `name`; the flag is the name with
// dashes: weight_decay, --weight-decay.
struct HyperParameter {
  std::string_view name;
  double value = 0;  // default of the row
  std::string_view doc;
  double below = 1;  // the value lies in [least, below)
  double least = 0;
};

// Facts about a step, which derived scalars are computed from.
struct StepFacts {
  double learning_rate = 0, previous_learning_rate = 0;
  double updates = 1;          // the papers' t: 1 in the first step
  double peak = 0, epoch = 0;  // reference learning rate of the schedule; epochs done before this step
  double rate_share = 1;       // squared learning rate over the sum of squares up to this step; 1 if all are 0
  std::span<const NamedScalar> hyper;
  double operator[](std::string_view hyper_parameter) const;
};

// A scalar that a rule reads and that is computed once a step, in double, from other numbers.
struct DerivedScalar {
  std::string_view name;
  double (*value)(const StepFacts& at) = nullptr;
};

// A row of the table. Every rule may read the scalars learning_rate, previous_learning_rate (in the first step it is
// learning_rate) and updates, and those that its row names.
struct Optimizer {
  std::string_view name;
  std::string_view doc;
  Tensor (*update)(UpdateContext&) = nullptr;
  double learning_rate = 0.1;  // a usual rate; optimizers with equal ones can exchange it
  HyperParameter hyper[8] = {};
  DerivedScalar derived[6] = {};
  // True: the rule averages the points of all steps in place of lowering the learning rate. Then the schedule is
  // constant by default, and it must be known before the run.
  bool schedule_free = false;
  // True: the rule takes matrices. Each parameter of its group has two axes or more.
  bool takes_matrices = false;

  std::span<const HyperParameter> hyper_parameters() const;
  std::span<const DerivedScalar> derived_scalars() const;
  bool reads(std::string_view hyper_parameter) const;
};

std::span<const Optimizer> optimizers();

// Returns the optimizer's hyper-parameters in the order of its row, each as given or else its default. Throws Error
// when a given name is not in the row or a value is out of range.
std::vector<NamedScalar> hyper_values(const Optimizer& optimizer, std::span<const NamedScalar> given);

// Returns the rule of the optimizer. The rule throws Error when it reads a scalar that does not exist; the text lists
// those that do.
UpdateRule update_rule(const Optimizer& optimizer);

// The place of a step in a schedule: its learning rate is the schedule's at `step`, times `gain`.
struct SchedulePlace {
  int64_t step = 0;
  double gain = 1;
};

// All scalars of a step by name. `at` moves the object to another step (from 0) and allocates nothing.
class StepScalars {
 public:
  StepScalars(LearningRate rate, const Optimizer& optimizer, std::span<const NamedScalar> hyper);
  std::span<const NamedScalar> at(int64_t step);
  // Returns the scalars of an update at `place`, before which the rule's slots have gathered `done` updates. `before`
  // is the place of the update before it; the first one passes its own.
  std::span<const NamedScalar> at(int64_t done, const SchedulePlace& place, const SchedulePlace& before);
  const LearningRate& rate() const { return rate_; }

 private:
  double rate_share(int64_t step);

  LearningRate rate_;
  Optimizer optimizer_;
  int64_t summed_ = 0;  // number of steps whose squared rates are in `squares_`
  double squares_ = 0;
  std::vector<NamedScalar> scalars_;  // scalars of every rule, then hyper-parameters, then derived scalars
};

}  // namespace kb
