#include "recipes/config/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace kb {

ReferenceRate reference_rate(const Learning& learning) {
  return {learning.lr, learning.base_minibatch, learning.scaling};
}

bool reads_gradient_norms(const TrainConfig& config) {
  return config.judging.noise_scale || reference_rate(config.learning).has_gains();
}

BatchPlan batch_plan(const Batching& batch, int64_t processes) {
  return make_batch_plan(batch.minibatch, batch.per_worker, processes, batch.batch_norm);
}

int64_t bucket_bytes(double megabytes) {
  constexpr double kUsualMb = 25;
  return std::llround(1e6 * (megabytes > 0 ? megabytes : kUsualMb));
}

namespace {

std::vector<MinibatchPhase> grown_phases(const TrainConfig& config, const RunPlan& plan) {
  const std::string member = "batch.growths = " + growths_text(config.batch.growths);
  std::vector<MinibatchPhase> phases;
  MinibatchPhase now{0, 0, plan.minibatch, plan.steps_per_epoch};
  for (const Growth& growth : config.batch.growths) {
    if (config.length.steps == 0 && growth.epoch >= config.length.epochs)
      throw Error(fmt::format("{}: expected growths before the end of the run, after {} epochs, got one at epoch {}",
                              member, config.length.epochs, growth.epoch));
    if (config.learning.warmup != "none" && static_cast<double>(growth.epoch) < config.learning.warmup_epochs)
      throw Error(fmt::format("{}: expected growths after the warmup, of {} epochs, got one at epoch {}", member,
                              config.learning.warmup_epochs, growth.epoch));
    const int64_t grown = now.minibatch * growth.factor;
    if (grown > plan.samples)
      throw Error(fmt::format("{}: expected minibatches of at most the {} training samples, got {} from epoch {} on",
                              member, plan.samples, grown, growth.epoch));
    now = {now.begin_step + (growth.epoch - now.begin_epoch) * now.steps_per_epoch, growth.epoch, grown,
           plan.samples / grown};
    phases.push_back(now);
  }
  return phases;
}

void check_workers(const TrainConfig& config, int64_t per_worker) {
  if (!reads_gradient_norms(config) || per_worker < config.batch.minibatch) return;
  throw Error(
      fmt::format("{}: expected two workers or more, whose gradients it compares, got one of {} samples\n"
                  "  hint:     batch.per_worker = {}",
                  config.judging.noise_scale ? "judging.noise_scale" : "learning.scaling = adascale", per_worker,
                  per_worker % 2 == 0 ? per_worker / 2 : 1));
}

void check_gains(const TrainConfig& config) {
  if (!reference_rate(config.learning).has_gains()) return;
  if (config.batch.minibatch < config.learning.base_minibatch)
    throw Error(fmt::format(
        "learning.scaling = adascale: expected batch.minibatch to be at least learning.base_minibatch, {}, got {}\n"
        "  hint:     learning.scaling = linear",
        config.learning.base_minibatch, config.batch.minibatch));
  if (!config.batch.growths.empty())
    throw Error(
        fmt::format("batch.growths: expected none beside learning.scaling = adascale, whose gains are averages over "
                    "steps of one minibatch, got {}",
                    growths_text(config.batch.growths)));
}

}  // namespace

RunPlan schedule_plan(const Learning& learning, const RunPlan& plan) {
  if (!reference_rate(learning).has_gains()) return plan;
  return {plan.samples, learning.base_minibatch, plan.samples / learning.base_minibatch, plan.steps};
}

RunPlan make_plan(const TrainConfig& config, const BatchPlan& batch, int64_t samples) {
  if (config.batch.minibatch > samples)
    throw Error(fmt::format("batch.minibatch: expected at most the {} training samples, got {}", samples,
                            config.batch.minibatch));
  const int64_t n = batch.per_worker;
  if (config.judging.recompute_bn > samples / n)
    throw Error(fmt::format(
        "judging.recompute_bn: expected at most {} minibatches of {}, which the {} training samples hold, got {}",
        samples / n, n, samples, config.judging.recompute_bn));
  check_workers(config, n);
  check_gains(config);
  RunPlan plan{samples, config.batch.minibatch, samples / config.batch.minibatch, config.length.steps};
  plan.grown = grown_phases(config, plan);
  if (plan.steps == 0)
    plan.steps = schedule_plan(config.learning, plan).steps_in(static_cast<double>(config.length.epochs));
  return plan;
}

MinibatchPhase RunPlan::phase(size_t number) const {
  return number == 0 ? MinibatchPhase{0, 0, minibatch, steps_per_epoch} : grown.at(number - 1);
}

size_t RunPlan::phase_of(int64_t step) const {
  size_t number = 0;
  while (number < grown.size() && grown[number].begin_step <= step) ++number;
  return number;
}

double RunPlan::epochs(int64_t done) const {
  const MinibatchPhase now = phase(phase_of(done));
  return static_cast<double>(now.begin_epoch) +
         static_cast<double>(done - now.begin_step) / static_cast<double>(now.steps_per_epoch);
}

int64_t RunPlan::steps_in(double epochs) const {
  size_t number = grown.size();
  while (number > 0 && static_cast<double>(phase(number).begin_epoch) > epochs) --number;
  const MinibatchPhase now = phase(number);
  const double own = epochs - static_cast<double>(now.begin_epoch);
  return now.begin_step + std::llround(own * static_cast<double>(now.steps_per_epoch));
}

int64_t RunPlan::samples_in(int64_t done) const {
  int64_t count = 0;
  for (size_t number = 0; number < phase_count(); ++number) {
    const MinibatchPhase now = phase(number);
    const int64_t end = number + 1 < phase_count() ? std::min(done, phase(number + 1).begin_step) : done;
    count += std::max<int64_t>(end - now.begin_step, 0) * now.minibatch;
  }
  return count;
}

int64_t RunPlan::epoch_begin(int64_t done) const {
  const MinibatchPhase now = phase(phase_of(done));
  return done - (done - now.begin_step) % now.steps_per_epoch;
}

bool RunPlan::ends_epoch(int64_t done) const { return done > 0 && epoch_begin(done) == done; }

namespace {

// Tolerance in periods: rounding may leave a multiple of a count such as 0.1 a hair short of a whole number.
constexpr double kHair = 1e-9;

// Returns the progress after `done` steps in the unit, which must not be geometric.
double position(Period::Unit unit, const RunPlan& plan, int64_t done) {
  if (unit == Period::Unit::epochs) return plan.epochs(done);
  return unit == Period::Unit::steps ? static_cast<double>(done) : static_cast<double>(plan.samples_in(done)) / 1000;
}

// Returns whether `done` is ceil(ratio^k) for a k >= 0.
bool is_power(double ratio, int64_t done) {
  const double nearest = std::round(std::log(static_cast<double>(done)) / std::log(ratio));
  for (const double k : {nearest - 1, nearest, nearest + 1})
    if (k >= 0 && std::ceil(std::pow(ratio, k)) == static_cast<double>(done)) return true;
  return false;
}

}  // namespace

bool is_due(const Period& every, const RunPlan& plan, int64_t done) {
  if (every.count == 0 || done <= 0) return false;
  if (every.unit == Period::Unit::geometric) return is_power(every.count, done);
  const auto passed = [&](int64_t steps) {
    return std::floor(position(every.unit, plan, steps) / every.count + kHair);
  };
  return passed(done) > passed(done - 1);
}

int64_t last_step(const StopAt& stop, const RunPlan& plan) {
  if (!stop.duration) return plan.steps;
  const int64_t steps = stop.duration->is_epochs ? plan.steps_in(stop.duration->count) : stop.duration->steps(1);
  return std::min(std::max<int64_t>(1, steps), plan.steps);
}

namespace {

// Returns a text such as
// "; AdaScale: 6 epochs x 937 steps of 64 = 5622 scale-invariant iterations, in 703 to 5622 steps".
std::string gains_derivation(const TrainConfig& config, const RunPlan& plan) {
  const RunPlan base = schedule_plan(config.learning, plan);
  const std::string iterations =
      config.length.steps > 0
          ? fmt::format("length.steps = {} of {}", plan.steps, base.minibatch)
          : fmt::format("{} epochs x {} steps of {}", config.length.epochs, base.steps_per_epoch, base.minibatch);
  return fmt::format("; AdaScale: {} = {} scale-invariant iterations, in {} to {} steps", iterations, plan.steps,
                     least_steps(config.learning, plan), plan.steps);
}

}  // namespace

int64_t least_steps(const Learning& learning, const RunPlan& plan) {
  const int64_t base = schedule_plan(learning, plan).minibatch;
  return (plan.steps * base + plan.minibatch - 1) / plan.minibatch;
}

std::string RunPlan::derivation(const TrainConfig& config) const {
  std::string text = fmt::format("{} samples / {} = {} steps an epoch", samples, minibatch, steps_per_epoch);
  if (int64_t rest = samples % minibatch; rest > 0) text += fmt::format(" ({} left out, others each time)", rest);
  for (const MinibatchPhase& now : grown)
    text +=
        fmt::format("; from epoch {} on {} / {} = {}", now.begin_epoch, samples, now.minibatch, now.steps_per_epoch);
  if (reference_rate(config.learning).has_gains()) return text + gains_derivation(config, *this);
  if (config.length.steps > 0) return text + fmt::format("; length.steps = {}, {:.3g} epochs", steps, epochs(steps));
  return text + fmt::format("; x {} epochs = {} steps", config.length.epochs, steps);
}

}  // namespace kb
