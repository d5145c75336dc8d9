#include <algorithm>

#include "compiler/passes/gradient_norms.h"
#include "optim/noise_scale.h"
#include "recipes/train/instruments.h"

namespace kb {
namespace {

// Logs the gradient noise scale during a run (optim/noise_scale.h), with judging.noise_scale or AdaScale. It reads
// the norms of a training program that was compiled with Workers::gradient_norms.
class NoiseLog : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit NoiseLog(const LoopParts& parts) : parts_(parts), is_on_(reads_gradient_norms(parts.config)) {}

  // Norms that are not finite are left out (NoiseAverage::add), as they were in the run that wrote the line.
  void restore(const FlatJson& line) override {
    if (is_step(line) && line.find(kGradient2))
      take({line.number(kWorkerGradient2), line.number(kGradient2)}, step_of(line), bucket_of(line));
  }

  // GradientNorms::worker is the mean over the k workers of |k g_j|^2, where g_j is worker j's part of the minibatch's
  // mean gradient. kWorkersNorm is the sum of |g_j|^2 (compiler/passes/gradient_norms.h), so that its factor is k^2 / k
  // = k.
  void add_to_step(StepMetrics& metrics, const StepOutputs& outputs) override {
    if (!is_on_) return;
    metrics.norms = {static_cast<double>(workers(metrics.step)) * outputs.scalar(kWorkersNorm),
                     outputs.scalar(kMeanNorm)};
    take(*metrics.norms, metrics.step, parts_.order.bucket(metrics.step));
  }

  // Both leave `noise` empty until two steps have been taken.
  void add_to_epoch(EpochMetrics& metrics) override { metrics.noise = average_.estimate(); }
  void add_to_evaluation(EvaluationReport& report) override { report.noise = average_.estimate(); }

 private:
  int64_t workers(int64_t step) const {
    return parts_.settled.batch.workers() * parts_.plan.phase(parts_.plan.phase_of(step)).factor;
  }

  // Returns the bucket of a step, which its length tells; a line without a length is of a task with one bucket.
  size_t bucket_of(const FlatJson& line) const {
    if (!line.find(kPaddedLength)) return 0;
    const auto length = static_cast<int64_t>(line.number(kPaddedLength));
    const auto found = std::ranges::find(parts_.settled.buckets, length, &Bucket::length);
    return found == parts_.settled.buckets.end() ? 0 : static_cast<size_t>(found - parts_.settled.buckets.begin());
  }

  void take(const GradientNorms& norms, int64_t step, size_t bucket) {
    average_.add(noise_sample(norms, workers(step), parts_.settled.buckets.at(bucket).per_worker));
  }

  const LoopParts& parts_;
  const bool is_on_;
  NoiseAverage average_;
};

}  // namespace

std::unique_ptr<Instrument> make_noise_log(const LoopParts& parts) { return std::make_unique<NoiseLog>(parts); }

}  // namespace kb
