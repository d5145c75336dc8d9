#include "optim/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "optim/rows.h"

namespace kb {
namespace {

double constant(const ScheduleSpec&, const SchedulePoint&) { return 1; }

// Drops the rate at milestones (Goyal et al. 2017, section 5.1). Epochs count from the start of the run, warmup
// included.
double steps(const ScheduleSpec& spec, const SchedulePoint& at) {
  auto passed = std::count_if(spec.milestones.begin(), spec.milestones.end(), [&](double e) { return e <= at.epoch; });
  return std::pow(spec.factor, static_cast<double>(passed));
}

// Falls as (1 - progress)^power. You et al. 2017 (LARS), algorithm 1, have power 2.
double polynomial(const ScheduleSpec& spec, const SchedulePoint& at) { return std::pow(1 - at.progress, spec.power); }

// Falls as `polynomial` over one step more than are left (train steps - warmup steps + 1), as in the MLPerf reference.
double mlperf(const ScheduleSpec& spec, const SchedulePoint& at) {
  return std::pow(1 - at.progress * at.steps / (at.steps + 1), spec.power);
}

// Falls as half a cosine that begins at the end of the warmup (Loshchilov and Hutter 2017, eq. 5, without restarts; He
// et al. 2019, sections 3.1 and 5.1).
double cosine(const ScheduleSpec&, const SchedulePoint& at) {
  return 0.5 * (1 + std::cos(std::numbers::pi * at.progress));
}

// One cycle (Smith and Topin 2018): the rate rises linearly from a low one to the reference and falls back, a little
// before the run ends, and then falls to several orders of magnitude less. The low and the last rate are those of
// PyTorch's OneCycleLR (three_phase, linear, pct_start 0.45): 1/25 of the reference, and 1/10000 of that. The momentum
// does not cycle.
double one_cycle(const ScheduleSpec&, const SchedulePoint& at) {
  constexpr double kHalf = 0.45, kLow = 1.0 / 25, kEnd = kLow * 1e-4;
  auto line = [](double start, double end, double share) { return start + (end - start) * share; };
  if (at.progress <= kHalf) return line(kLow, 1, at.progress / kHalf);
  if (at.progress <= 2 * kHalf) return line(1, kLow, at.progress / kHalf - 1);
  return line(kLow, kEnd, (at.progress - 2 * kHalf) / (1 - 2 * kHalf));
}

// The slow start of Akiba et al. 2017, section 3.2: lower rates in phases, whose epochs count from the start of the
// run.
double slow_start(const ScheduleSpec&, const SchedulePoint& at) {
  struct Phase {
    double end_epoch, multiplier;
  };
  for (const Phase& phase : {Phase{40, 0.5}, {70, 0.075}, {85, 0.01}})
    if (at.epoch < phase.end_epoch) return phase.multiplier;
  return 0.001;
}

// Returns the share of the decay that is done, from 0 to 1.
double decayed(const ScheduleSpec& spec, const SchedulePoint& at) {
  return std::clamp((at.progress - (1 - spec.decay_share)) / spec.decay_share, 0.0, 1.0);
}

// Warmup, stable, decay (Hu et al. 2024, arXiv 2404.06395): the rate stays constant and falls in the last share of the
// steps. Runs of several lengths share their constant part. Hägele et al. 2024 (arXiv 2405.18392) let it fall linearly
// or as 1 - sqrt(x).
double wsd(const ScheduleSpec& spec, const SchedulePoint& at) { return 1 - decayed(spec, at); }
double wsd_sqrt(const ScheduleSpec& spec, const SchedulePoint& at) { return 1 - std::sqrt(decayed(spec, at)); }

// Falls as sqrt(W / t) at step t after a warmup of W steps (Vaswani et al. 2017, eq. 3, whose reference is the rate at
// step W).
double inverse_sqrt(const ScheduleSpec&, const SchedulePoint& at) {
  return std::sqrt(at.warmup / (at.warmup + at.progress * at.steps));
}

// A warmup of whole steps, given as steps / steps an epoch, comes back from epochs to within this many steps.
constexpr double kRounding = 1e-6;

// Returns a number of steps without that rounding.
double rounded(double steps) {
  const double whole = std::round(steps);
  return std::abs(steps - whole) < kRounding ? whole : steps;
}

constexpr ScheduleShape kShapes[] = {
    {"constant", "the reference throughout", constant},
    {"step", "the reference, times a factor at each milestone", steps},
    {"polynomial", "from the reference to the end rate as (1 - progress)^power", polynomial, true},
    {"mlperf", "polynomial over one step more than are left, as in the MLPerf reference", mlperf, true},
    {"cosine", "half a cosine from the reference to the end rate", cosine, true},
    {"slow-start", "0.5 of the reference for 40 epochs, 0.075 for 30, 0.01 for 15, then 0.001", slow_start},
    {"one-cycle", "linear from 1/25 of the reference up to it and back, then to 1/250000", one_cycle},
    {"wsd", "the reference, then linearly to the end rate over the last share of the steps", wsd, true},
    {"wsd-sqrt", "the reference, then to the end rate as 1 - sqrt(x) over the last share of the steps", wsd_sqrt, true},
    {"inverse-sqrt", "the reference times sqrt(W / t) at step t, after a warmup of W steps", inverse_sqrt, false, true},
};

// Keeps the low rate throughout the warmup (Goyal et al. 2017, section 2.2). Rounding may put the step behind the
// warmup a hair before its end.
double constant_warmup(const ScheduleSpec& spec, double done) {
  constexpr double kHair = 1e-9;
  return done < 1 - kHair ? spec.warmup_start : spec.learning_rate;
}

// Raises the rate linearly in steps from the low one to the reference (Goyal et al. 2017, section 2.2).
double gradual_warmup(const ScheduleSpec& spec, double done) {
  return spec.warmup_start + (spec.learning_rate - spec.warmup_start) * done;
}

constexpr WarmupKind kWarmups[] = {
    {"none", "the schedule from step 0", nullptr},
    {"constant", "the low rate, then a jump", constant_warmup},
    {"gradual", "from the low rate to the reference, linear in steps", gradual_warmup},
};

void check(bool holds, std::string_view what, std::string_view expected, double got) {
  if (!holds) throw Error(fmt::format("schedule: {}: expected {}, got {}", what, expected, got));
}

void check(const ScheduleSpec& spec) {
  check(std::isfinite(spec.learning_rate) && spec.learning_rate >= 0, "learning rate", "a finite number >= 0",
        spec.learning_rate);
  check(spec.warmup_epochs >= 0, "warmup epochs", "a number >= 0", spec.warmup_epochs);
  check(std::isfinite(spec.warmup_start) && spec.warmup_start >= 0, "start of the warmup", "a finite number >= 0",
        spec.warmup_start);
  check(spec.power >= 0, "power", "a number >= 0", spec.power);
  check(std::isfinite(spec.factor) && spec.factor >= 0, "factor at a milestone", "a finite number >= 0", spec.factor);
  check(spec.decay_share > 0 && spec.decay_share <= 1, "share of the decay", "a number in (0, 1]", spec.decay_share);
  check(spec.steps_per_epoch >= 1, "steps an epoch", "at least 1", static_cast<double>(spec.steps_per_epoch));
  check(spec.total_steps >= 0, "steps", "at least 0", static_cast<double>(spec.total_steps));
  check(spec.end_rate >= 0 && spec.end_rate <= spec.learning_rate, "end rate",
        fmt::format("a number in [0, {}], the learning rate", spec.learning_rate), spec.end_rate);
  if (spec.shape == "step" && spec.milestones.empty())
    throw Error("schedule: step: expected the epochs at which the learning rate drops, got none");
}

void check_end_rate(const ScheduleSpec& spec, const ScheduleShape& shape, const std::vector<ScheduleShape>& own) {
  if (spec.end_rate == 0 || shape.has_end_rate) return;
  std::vector<std::string_view> names;
  for (const ScheduleShape& row : offered_shapes(own))
    if (row.has_end_rate) names.push_back(row.name);
  throw Error(fmt::format("schedule: {} does not read the end rate {}; those that do: {}", spec.shape, spec.end_rate,
                          fmt::join(names, ", ")));
}

void check_warmup(const ScheduleSpec& spec, const ScheduleShape& shape, bool has_warmup) {
  if (has_warmup || !shape.needs_warmup) return;
  throw Error(
      fmt::format("schedule: {}: expected a warmup, from whose steps its rate follows, got none\n"
                  "  hint:     learning.warmup_epochs = 1, and learning.warmup_from = 0 where batch.minibatch does not "
                  "exceed learning.base_minibatch",
                  spec.shape));
}

}  // namespace

std::span<const WarmupKind> warmup_kinds() { return kWarmups; }

std::vector<ScheduleShape> offered_shapes(const std::vector<ScheduleShape>& own) {
  std::vector<ScheduleShape> offered = own;
  offered.insert(offered.end(), std::begin(kShapes), std::end(kShapes));
  return offered;
}

LearningRate::LearningRate(ScheduleSpec spec, const std::vector<ScheduleShape>& own)
    : spec_(std::move(spec)),
      shape_(find_row(offered_shapes(own), "schedule", spec_.shape)),
      warmup_(&find_row(kWarmups, "warmup", spec_.warmup)) {
  if (!shape_.multiplier)
    throw Error(fmt::format("schedule {} has no multiplier (ScheduleShape::multiplier)", shape_.name));
  check(spec_);
  check_end_rate(spec_, shape_, own);
  check_warmup(spec_, shape_, warmup_steps(spec_.warmup_epochs) > 0);
  for (const StepGrowth& growth : spec_.growths)
    if (growth.restarts) check_warmup(spec_, shape_, warmup_steps(growth.warmup_epochs) > 0);
}

double LearningRate::warmup_steps(double epochs) const {
  return warmup_->rate ? epochs * static_cast<double>(spec_.steps_per_epoch) : 0;
}

LearningRate::Part LearningRate::part_of(int64_t step) const {
  Part part{0, position(spec_.total_steps), spec_.warmup_epochs};
  for (const StepGrowth& growth : spec_.growths) {
    if (!growth.restarts) continue;
    if (growth.from > step) {
      part.end = position(growth.from);
      break;
    }
    part.begin = position(growth.from);
    part.warmup_epochs = growth.warmup_epochs;
  }
  return part;
}

double LearningRate::position(int64_t step) const {
  double steps = 0, each = 1;
  int64_t from = 0;
  for (const StepGrowth& growth : spec_.growths) {
    if (growth.from > step) break;
    steps += each * static_cast<double>(growth.from - from) + growth.skipped;
    from = growth.from;
    each = growth.steps;
  }
  return steps + each * static_cast<double>(step - from);
}

double LearningRate::growth_factor(int64_t step) const {
  double factor = 1;
  for (const StepGrowth& growth : spec_.growths)
    if (growth.from <= step) factor = growth.rate;
  return factor;
}

double LearningRate::epoch(int64_t step) const {
  return rounded(position(step)) / static_cast<double>(spec_.steps_per_epoch);
}

double LearningRate::at(int64_t step) const {
  const Part part = part_of(step);
  const double t = position(step) - part.begin, warmup = warmup_steps(part.warmup_epochs);
  if (t < warmup) return warmup_->rate(spec_, t / warmup) * growth_factor(step);
  const double rest = std::max(part.end - part.begin - warmup, 1.0);
  const SchedulePoint at{rounded(t) / static_cast<double>(spec_.steps_per_epoch), std::min((t - warmup) / rest, 1.0),
                         rest, warmup};
  const double scheduled = spec_.end_rate + (spec_.learning_rate - spec_.end_rate) * shape_.multiplier(spec_, at);
  return scheduled * growth_factor(step);
}

std::string LearningRate::description() const {
  const double warmup = std::ceil(warmup_steps(spec_.warmup_epochs) - kRounding);
  const double rest = static_cast<double>(spec_.total_steps) - warmup;
  std::string text;
  if (warmup > 0)
    text = fmt::format("{} warmup over {:.6g} epoch{} = {} steps {} {}, then ", spec_.warmup, spec_.warmup_epochs,
                       spec_.warmup_epochs == 1 ? "" : "s", warmup, spec_.warmup == "constant" ? "at" : "from",
                       spec_.warmup_start);
  text += spec_.shape;
  if (spec_.shape == "polynomial" || spec_.shape == "mlperf") text += fmt::format(" of power {}", spec_.power);
  if (spec_.end_rate > 0) text += fmt::format(" to {}", spec_.end_rate);
  text += fmt::format(" over {} steps", std::max(rest, 0.0));
  if (spec_.shape == "wsd" || spec_.shape == "wsd-sqrt")
    text += fmt::format(", decaying in the last {} of them", spec_.decay_share);
  if (spec_.shape == "step") text += fmt::format(", x{} at epoch {}", spec_.factor, fmt::join(spec_.milestones, ", "));
  for (double before = 1; const StepGrowth& growth : spec_.growths)
    if (growth.rate != std::exchange(before, growth.rate))
      text += fmt::format(", times {:.6g} from step {} on", growth.rate, growth.from);
  for (const StepGrowth& growth : spec_.growths)
    if (growth.restarts)
      text +=
          fmt::format(", begun anew at step {} with a warmup over {:.6g} epochs", growth.from, growth.warmup_epochs);
  return text;
}

}  // namespace kb
