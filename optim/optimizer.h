// Optimizers: an update rule, the numbers that it takes, and what it reads each step. One row of a table each; a user's
// own is a row in the recipe's file.
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

// A number that a recipe or a command line may set. The rule reads it as the scalar `name`; its flag is the name with
// dashes: weight_decay, --weight-decay.
struct HyperParameter {
  std::string_view name;
  double value = 0;  // where neither the recipe nor the command line has one
  std::string_view doc;
  double below = 1;  // it lies in [0, below)
};

// Facts about a step that a derived scalar may depend on.
struct StepFacts {
  double learning_rate = 0, previous_learning_rate = 0;
  double updates = 1;          // t of the papers: 1 in the first step
  double peak = 0, epoch = 0;  // the schedule's reference learning rate; epochs done before this step
  double rate_share = 1;       // this step's share of the sum of squared learning rates so far; 1 where all are 0
  std::span<const NamedScalar> hyper;
  double operator[](std::string_view hyper_parameter) const;
};

// A scalar of the rule that is better computed once a step, in double, than for every parameter.
struct DerivedScalar {
  std::string_view name;
  double (*value)(const StepFacts& at) = nullptr;
};

// Every rule may read the scalars learning_rate, previous_learning_rate (that of the step before; in the first step its
// own) and updates, and those that its row names.
struct Optimizer {
  std::string_view name;
  std::string_view doc;
  Tensor (*update)(UpdateContext&) = nullptr;
  double learning_rate = 0.1;  // a usual one; optimizers with the same can take each other's
  HyperParameter hyper[8] = {};
  DerivedScalar derived[6] = {};
  // It averages the points of all steps in place of a learning rate that falls: that is constant where nobody asks for
  // another shape, and known before the run.
  bool schedule_free = false;

  std::span<const HyperParameter> hyper_parameters() const;
  std::span<const DerivedScalar> derived_scalars() const;
  bool reads(std::string_view hyper_parameter) const;
};

std::span<const Optimizer> optimizers();

// The optimizer's hyper-parameters in the order of its row: the given value, else the row's. Throws Error on a given
// name that is not of the row, and on a value out of range.
std::vector<NamedScalar> hyper_values(const Optimizer& optimizer, std::span<const NamedScalar> given);

// The rule, checked: a scalar that no one would set is an Error, with those there are.
UpdateRule update_rule(const Optimizer& optimizer);

// Place of a step in a schedule: its learning rate is that of the schedule's step `step`, times `gain`.
struct SchedulePlace {
  int64_t step = 0;
  double gain = 1;
};

// All scalars of a step by name. Made once; `at` moves it to a step (from 0) without allocating.
class StepScalars {
 public:
  StepScalars(LearningRate rate, const Optimizer& optimizer, std::span<const NamedScalar> hyper);
  std::span<const NamedScalar> at(int64_t step);
  // `before`: the place of the step before; in the first step its own.
  std::span<const NamedScalar> at(int64_t step, const SchedulePlace& place, const SchedulePlace& before);
  const LearningRate& rate() const { return rate_; }

 private:
  double rate_share(int64_t step);

  LearningRate rate_;
  Optimizer optimizer_;
  int64_t summed_ = 0;  // steps whose squared rates are in `squares_`
  double squares_ = 0;
  std::vector<NamedScalar> scalars_;  // those that every rule may read, then its hyper-parameters, then the derived
};

}  // namespace kb
