#include "recipes/train/noise_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/passes/gradient_norms.h"

namespace kb {

NoiseLog::NoiseLog(const LoopParts& parts) : parts_(parts), is_on_(reads_gradient_norms(parts.config)) {}

int64_t NoiseLog::workers(int64_t step) const {
  return parts_.settled.batch.workers() * parts_.plan.phase(parts_.plan.phase_of(step)).factor;
}

void NoiseLog::take(const GradientNorms& norms, int64_t step, size_t bucket) {
  average_.add(noise_sample(norms, workers(step), parts_.settled.buckets.at(bucket).per_worker));
}

// Returns the bucket of a step, which its length tells; a line without a length is of a task with one bucket.
size_t NoiseLog::bucket_of(const FlatJson& line) const {
  if (!line.find(kPaddedLength)) return 0;
  const auto length = static_cast<int64_t>(line.number(kPaddedLength));
  const auto found = std::ranges::find(parts_.settled.buckets, length, &Bucket::length);
  return found == parts_.settled.buckets.end() ? 0 : static_cast<size_t>(found - parts_.settled.buckets.begin());
}

// Norms that are not finite are left out (NoiseAverage::add), as they were in the run that wrote the line.
void NoiseLog::restore(const FlatJson& line) {
  if (is_step(line) && line.find(kGradient2))
    take({line.number(kWorkerGradient2), line.number(kGradient2)}, step_of(line), bucket_of(line));
}

// GradientNorms::worker is the mean over the k workers of |k g_j|^2, where g_j is worker j's part of the minibatch's
// mean gradient. kWorkersNorm is the sum of |g_j|^2 (compiler/passes/gradient_norms.h), so that its factor is k^2 / k =
// k.
void NoiseLog::add_to_step(StepMetrics& metrics, const StepOutputs& outputs) {
  if (!is_on_) return;
  metrics.norms = {static_cast<double>(workers(metrics.step)) * outputs.scalar(kWorkersNorm),
                   outputs.scalar(kMeanNorm)};
  take(*metrics.norms, metrics.step, parts_.order.bucket(metrics.step));
}

std::string to_text(const NoiseScale& noise) {
  const auto samples = [](double value) {
    return value < 99.5 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
  };
  if (!noise.high) return fmt::format("noise scale above {}", samples(noise.low));
  return fmt::format("noise scale {} ({} to {})", samples(noise.samples), samples(noise.low), samples(*noise.high));
}

}  // namespace kb
