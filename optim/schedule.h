// The learning rate as one function of the step: a linear warmup, then the shape of one row of a table. And what an
// optimizer reads each step, as named scalars.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct ScheduleSpec {
  std::string shape = "constant";  // a row of schedule_shapes()
  double learning_rate = 0.1;      // the reference, reached at the end of the warmup
  double warmup_epochs = 0;
  double warmup_start = 0;         // learning rate of step 0 where there is a warmup
  std::vector<double> milestones;  // step: epochs at which the learning rate drops
  double factor = 0.1;             // step: by which it is multiplied there
  int64_t steps_per_epoch = 1;
  int64_t total_steps = 1;
};

// Where a step stands. Steps count from 0.
struct SchedulePoint {
  double epoch = 0;     // from the start of the run, warmup included
  double progress = 0;  // 0 at the end of the warmup, 1 at the end of the run
};

// A multiplier of the reference learning rate.
struct ScheduleShape {
  std::string_view name;
  std::string_view doc;
  double (*multiplier)(const ScheduleSpec& spec, const SchedulePoint& at);
};

std::span<const ScheduleShape> schedule_shapes();

class LearningRate {
 public:
  // Throws Error on an unknown shape, naming those there are, and on numbers out of range.
  explicit LearningRate(ScheduleSpec spec);

  // Goyal et al. 2017, section 2.2: during the warmup of W steps, step t has start + (reference - start) t / W; after
  // it the shape's value. Past the last step the shape stays as at its end.
  double at(int64_t step) const;

  const ScheduleSpec& spec() const { return spec_; }
  // In words: "cosine from 0.05 over 5622 steps", warmup included.
  std::string description() const;

 private:
  double warmup_steps() const { return spec_.warmup_epochs * static_cast<double>(spec_.steps_per_epoch); }

  ScheduleSpec spec_;
  const ScheduleShape* shape_;
};

struct NamedScalar {
  std::string name;
  double value = 0;
};

// What sgd_momentum (optim/sgd.h) reads. Made once; `at` moves it to a step without allocating.
class SgdScalars {
 public:
  SgdScalars(LearningRate rate, double momentum, double weight_decay);
  std::span<const NamedScalar> at(int64_t step);
  const LearningRate& rate() const { return rate_; }

 private:
  LearningRate rate_;
  std::array<NamedScalar, 3> scalars_;
};

}  // namespace kb
