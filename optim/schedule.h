// The learning rate as one function of the step: a warmup, then the shape of one row of a table.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// From a step on, each step counts as `steps` of those before the first growth of the minibatch.
struct StepGrowth {
  int64_t from = 0;
  double steps = 1;
};

struct ScheduleSpec {
  std::string shape = "constant";  // a row of schedule_shapes()
  double learning_rate = 0.1;      // the reference, reached at the end of the warmup
  std::string warmup = "gradual";  // a row of warmup_kinds()
  double warmup_epochs = 0;
  double warmup_start = 0;              // learning rate of step 0 where there is a warmup
  std::vector<double> milestones = {};  // step: epochs at which the learning rate drops
  double factor = 0.1;                  // step: by which it is multiplied there
  double power = 2;                     // polynomial, mlperf
  double end_rate = 0;                  // learning rate at the end, for shapes that fall to it
  int64_t steps_per_epoch = 1;          // before the first growth
  int64_t total_steps = 1;
  std::vector<StepGrowth> growths = {};  // in the order of their steps
};

// Position of a step in the schedule. Steps count from 0.
struct SchedulePoint {
  double epoch = 0;     // from the start of the run, warmup included
  double progress = 0;  // 0 at the end of the warmup, 1 at the end of the run
  double steps = 1;     // from the end of the warmup to the end of the run
};

// A multiplier of the reference learning rate; where the shape falls to an end rate, of what the reference is above it.
struct ScheduleShape {
  std::string_view name;
  std::string_view doc;
  double (*multiplier)(const ScheduleSpec& spec, const SchedulePoint& at);
  bool has_end_rate = false;
};

// The learning rate of a share of the warmup, `done` in [0, 1).
struct WarmupKind {
  std::string_view name;
  std::string_view doc;
  double (*rate)(const ScheduleSpec& spec, double done);  // null: there is no warmup
};

std::span<const ScheduleShape> schedule_shapes();
std::span<const WarmupKind> warmup_kinds();

class LearningRate {
 public:
  // Throws Error on an unknown shape or warmup, naming those there are, on numbers out of range, on a shape `step`
  // without milestones, and on an end rate for a shape that has none.
  explicit LearningRate(ScheduleSpec spec);

  // Step t of a warmup of W steps has the warmup's rate at t / W; from then on the shape's value. Past the last step
  // the shape stays as at its end. Epochs count, not steps, where the minibatch grows.
  double at(int64_t step) const;

  const ScheduleSpec& spec() const { return spec_; }
  // In words: "gradual warmup over 5 epochs = 780 steps from 0.1, then cosine over 8580 steps".
  std::string description() const;

 private:
  double warmup_steps() const;
  double position(int64_t step) const;

  ScheduleSpec spec_;
  const ScheduleShape* shape_;
  const WarmupKind* warmup_;
};

}  // namespace kb
