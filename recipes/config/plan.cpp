#include "recipes/config/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace kb {

RunConfig with_absolute_paths(RunConfig config) {
  for (std::string* path : {&config.data, &config.init})
    if (!path->empty() && *path != kNoise) *path = std::filesystem::absolute(*path).lexically_normal().string();
  if (const size_t at = config.branch.rfind('@'); at != std::string::npos)
    config.branch =
        std::filesystem::absolute(config.branch.substr(0, at)).lexically_normal().string() + config.branch.substr(at);
  return config;
}

BatchPlan batch_plan(const RunConfig& config) {
  return make_batch_plan(config.minibatch, config.per_worker, config.processes, config.batch_norm);
}

RunConfig with_plan(RunConfig config) {
  config.per_worker = batch_plan(config).per_worker;
  config.batch_norm = {};
  return config;
}

int64_t bucket_bytes(double megabytes) {
  constexpr double kUsualMb = 25;
  return std::llround(1e6 * (megabytes > 0 ? megabytes : kUsualMb));
}

RunPlan make_plan(const RunConfig& config, int64_t samples) {
  if (config.minibatch > samples)
    throw Error(fmt::format("--minibatch: expected at most the {} samples of {}, got {}", samples, config.dataset,
                            config.minibatch));
  const int64_t n = batch_plan(config).per_worker;
  if (config.recompute_bn > samples / n)
    throw Error(
        fmt::format("--recompute-bn: expected at most {} minibatches of {}, which the {} samples of {} hold, got {}",
                    samples / n, n, samples, config.dataset, config.recompute_bn));
  RunPlan plan{samples, config.minibatch, samples / config.minibatch, config.steps};
  if (plan.steps == 0) plan.steps = config.epochs * plan.steps_per_epoch;
  return plan;
}

namespace {

// A multiple of a count such as 0.1 that is a hair short of one counts as one.
constexpr double kHair = 1e-9;

double position(Period::Unit unit, const RunPlan& plan, int64_t done) {
  if (unit == Period::Unit::epochs) return plan.epochs(done);
  const auto steps = static_cast<double>(done);
  return unit == Period::Unit::steps ? steps : steps * static_cast<double>(plan.minibatch) / 1000;
}

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
  return stop.duration ? std::min(stop.duration->steps(plan.steps_per_epoch), plan.steps) : plan.steps;
}

std::string RunPlan::derivation(const RunConfig& config) const {
  std::string text = fmt::format("{} samples / {} = {} steps an epoch", samples, minibatch, steps_per_epoch);
  if (int64_t rest = samples % minibatch; rest > 0) text += fmt::format(" ({} left out, others each time)", rest);
  if (config.steps > 0) return text + fmt::format("; --steps {} = {:.3g} epochs", steps, epochs(steps));
  return text + fmt::format("; x {} epochs = {} steps", config.epochs, steps);
}

}  // namespace kb
