// The learning rate as a function of the step: first a warmup, then a shape. Each is a row of a table.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// The minibatch grows at step `from`: each step from there on counts as `steps` steps of before the first growth.
struct StepGrowth {
  int64_t from = 0;
  double steps = 1;
  double skipped = 0;  // number of steps, of before the first growth, that the schedule goes on by at the growth itself
  double rate = 1;     // factor of the learning rate from there on
  // Whether the schedule begins anew here and takes the steps up to the next restart or the end of the run; and the
  // epochs of its warmup. Epochs count from here then.
  bool restarts = false;
  double warmup_epochs = 0;
};

inline constexpr double kDecayShare = 0.2;  // usual share of a decay that ends a run

struct ScheduleSpec {
  std::string shape = "constant";  // name of a shape
  double learning_rate = 0.1;      // the reference rate, which the warmup ends at
  std::string warmup = "gradual";  // name of a row of warmup_kinds()
  double warmup_epochs = 0;
  double warmup_start = 0;              // learning rate of step 0 if there is a warmup
  std::vector<double> milestones = {};  // shape `step`: epochs at which the rate drops
  double factor = 0.1;                  // shape `step`: factor of the rate at each milestone
  double power = 2;                     // power of the shapes polynomial and mlperf
  double decay_share = kDecayShare;     // shapes wsd, wsd-sqrt: share of the steps after the warmup that decay
  double end_rate = 0;                  // last learning rate, in shapes that fall to one
  int64_t steps_per_epoch = 1;          // steps of an epoch before the minibatch grows
  int64_t total_steps = 1;
  std::vector<StepGrowth> growths = {};  // growths of the minibatch, sorted by step
};

// The position of a step in the schedule. Steps count from 0. A restart of the schedule counts as the begin of the run,
// and as the end of the part before it.
struct SchedulePoint {
  double epoch = 0;     // epochs since the start of the run, warmup included
  double progress = 0;  // 0 at the end of the warmup, 1 at the end of the run
  double steps = 1;     // number of steps from the end of the warmup to the end of the run
  double warmup = 0;    // number of steps of the warmup
};

// A shape: a multiplier of the reference learning rate. If the shape falls to an end rate, it multiplies what the
// reference is above that.
struct ScheduleShape {
  std::string_view name;
  std::string_view doc;
  double (*multiplier)(const ScheduleSpec& spec, const SchedulePoint& at);
  bool has_end_rate = false;
  bool needs_warmup = false;
};

// A kind of warmup: the learning rate after a share `done` of the warmup, in [0, 1).
struct WarmupKind {
  std::string_view name;
  std::string_view doc;
  double (*rate)(const ScheduleSpec& spec, double done);  // null: there is no warmup
};

std::span<const WarmupKind> warmup_kinds();
// Returns the shapes of `own`, which a recipe or a task brings, and then the built-in ones.
std::vector<ScheduleShape> offered_shapes(const std::vector<ScheduleShape>& own);

class LearningRate {
 public:
  // `own`: shapes beside the built-in ones. Throws Error when the shape or the warmup is unknown (the text lists those
  // there are), a number is out of range, the shape `step` has no milestones, an end rate is set for a shape that has
  // none, or the shape needs a warmup and there is none.
  explicit LearningRate(ScheduleSpec spec, const std::vector<ScheduleShape>& own = {});

  // Returns the learning rate of a step. Step t of a warmup of W steps has the warmup's rate at t / W; later steps
  // follow the shape. After the last step the rate stays at its last value. If the minibatch grows, positions are
  // measured in epochs, and a growth may multiply the rate.
  double at(int64_t step) const;
  // Returns the epochs of the run before a step.
  double epoch(int64_t step) const;

  const ScheduleSpec& spec() const { return spec_; }
  // Returns the schedule in words: "gradual warmup over 5 epochs = 780 steps from 0.1, then cosine over 8580 steps".
  std::string description() const;

 private:
  // The schedule from one restart to the next. Positions are steps of before the first growth.
  struct Part {
    double begin = 0, end = 0;  // positions
    double warmup_epochs = 0;
  };
  double warmup_steps(double epochs) const;
  double position(int64_t step) const;
  double growth_factor(int64_t step) const;
  Part part_of(int64_t step) const;

  ScheduleSpec spec_;
  ScheduleShape shape_;
  const WarmupKind* warmup_;
};

}  // namespace kb
