#include "recipes/train/noise_log.h"

#include <fmt/format.h>

#include "compiler/gradient_norms.h"

namespace kb {

NoiseLog::NoiseLog(const TrainConfig& config, int64_t per_worker, const RunPlan& plan,
                   std::span<const GradientNorms> before)
    : is_on_(reads_gradient_norms(config)), per_worker_(per_worker), plan_(plan) {
  for (size_t step = 0; step < before.size(); ++step) take(before[step], static_cast<int64_t>(step));
}

int64_t NoiseLog::workers(int64_t step) const { return plan_.phase(plan_.phase_of(step)).minibatch / per_worker_; }

void NoiseLog::take(const GradientNorms& norms, int64_t step) {
  average_.add(noise_sample(norms, workers(step), per_worker_));
}

// A worker's part of the gradient is 1/k of the mean over its own samples.
std::optional<GradientNorms> NoiseLog::read(const Session& training, int64_t step, int age) {
  if (!is_on_) return std::nullopt;
  const GradientNorms norms{static_cast<double>(workers(step)) * training.read_scalar(kWorkersNorm, age),
                            training.read_scalar(kMeanNorm, age)};
  take(norms, step);
  return norms;
}

std::string to_text(const NoiseScale& noise) {
  const auto samples = [](double value) {
    return value < 99.5 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
  };
  if (!noise.high) return fmt::format("noise scale above {}", samples(noise.low));
  return fmt::format("noise scale {} ({} to {})", samples(noise.samples), samples(noise.low), samples(*noise.high));
}

}  // namespace kb
