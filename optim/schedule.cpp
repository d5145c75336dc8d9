#include "optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/error.h"

namespace kb {
namespace {

double constant(const ScheduleSpec&, const SchedulePoint&) { return 1; }

// Goyal et al. 2017, section 5.1: epochs are counted from the start of the run, whatever the warmup.
double steps(const ScheduleSpec& spec, const SchedulePoint& at) {
  auto passed = std::count_if(spec.milestones.begin(), spec.milestones.end(), [&](double e) { return e <= at.epoch; });
  return std::pow(spec.factor, static_cast<double>(passed));
}

// Loshchilov and Hutter 2017, eq. 5, without restarts; begins where the warmup ends (He et al. 2019, section 3.1 and
// 5.1).
double cosine(const ScheduleSpec&, const SchedulePoint& at) {
  return 0.5 * (1 + std::cos(std::numbers::pi * at.progress));
}

constexpr ScheduleShape kShapes[] = {
    {"constant", "the reference throughout", constant},
    {"step", "x0.1 at the recipe's epochs", steps},
    {"cosine", "half a cosine from the reference to 0", cosine},
};

const ScheduleShape& find_shape(const std::string& name) {
  std::string known;
  for (const ScheduleShape& shape : kShapes) {
    if (shape.name == name) return shape;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", shape.name);
  }
  throw Error(fmt::format("schedule: expected one of {}, got '{}'", known, name));
}

void check(bool holds, std::string_view what, std::string_view expected, double got) {
  if (!holds) throw Error(fmt::format("schedule: {}: expected {}, got {}", what, expected, got));
}

void check(const ScheduleSpec& spec) {
  check(std::isfinite(spec.learning_rate) && spec.learning_rate >= 0, "learning rate", "a finite number >= 0",
        spec.learning_rate);
  check(spec.warmup_epochs >= 0, "warmup epochs", "a number >= 0", spec.warmup_epochs);
  check(std::isfinite(spec.warmup_start) && spec.warmup_start >= 0, "start of the warmup", "a finite number >= 0",
        spec.warmup_start);
  check(spec.steps_per_epoch >= 1, "steps an epoch", "at least 1", static_cast<double>(spec.steps_per_epoch));
  check(spec.total_steps >= 0, "steps", "at least 0", static_cast<double>(spec.total_steps));
}

}  // namespace

std::span<const ScheduleShape> schedule_shapes() { return kShapes; }

LearningRate::LearningRate(ScheduleSpec spec) : spec_(std::move(spec)), shape_(&find_shape(spec_.shape)) {
  check(spec_);
}

double LearningRate::at(int64_t step) const {
  const double t = static_cast<double>(step), warmup = warmup_steps(), total = static_cast<double>(spec_.total_steps);
  if (t < warmup) return spec_.warmup_start + (spec_.learning_rate - spec_.warmup_start) * t / warmup;
  const double rest = std::max(total - warmup, 1.0);
  const SchedulePoint at{t / static_cast<double>(spec_.steps_per_epoch), std::min((t - warmup) / rest, 1.0)};
  return spec_.learning_rate * shape_->multiplier(spec_, at);
}

std::string LearningRate::description() const {
  std::string text = fmt::format("{} from {} over {} steps", spec_.shape, spec_.learning_rate, spec_.total_steps);
  if (spec_.shape == "step" && !spec_.milestones.empty())
    text += fmt::format(", x{} at epoch {}", spec_.factor, fmt::join(spec_.milestones, ", "));
  if (spec_.warmup_epochs > 0)
    text += fmt::format(", after a linear warmup from {} over {} steps", spec_.warmup_start, std::ceil(warmup_steps()));
  return text;
}

SgdScalars::SgdScalars(LearningRate rate, double momentum, double weight_decay)
    : rate_(std::move(rate)),
      scalars_{{{"learning_rate", 0}, {"momentum", momentum}, {"weight_decay", weight_decay}}} {}

std::span<const NamedScalar> SgdScalars::at(int64_t step) {
  scalars_[0].value = rate_.at(step);
  return scalars_;
}

}  // namespace kb
