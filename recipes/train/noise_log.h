// Logs the gradient noise scale during a run (optim/noise_scale.h), with judging.noise_scale or AdaScale.
#pragma once
#include <string>

#include "optim/noise_scale.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

// Reads the norms of a training program that was compiled with Workers::gradient_norms.
class NoiseLog : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit NoiseLog(const LoopParts& parts);

  void restore(const FlatJson& line) override;
  void add_to_step(StepMetrics& metrics, const StepOutputs& outputs) override;
  // Both leave `noise` empty until two steps have been taken.
  void add_to_epoch(EpochMetrics& metrics) override { metrics.noise = average_.estimate(); }
  void add_to_evaluation(EvaluationReport& report) override { report.noise = average_.estimate(); }

 private:
  int64_t workers(int64_t step) const;
  size_t bucket_of(const FlatJson& line) const;
  void take(const GradientNorms& norms, int64_t step, size_t bucket);

  const LoopParts& parts_;
  const bool is_on_;
  NoiseAverage average_;
};

// Returns a text such as "noise scale 876 (610 to 1300)", in samples, with the 95 % interval in parentheses, or "noise
// scale above 610" if the interval has no upper end.
std::string to_text(const NoiseScale& noise);

}  // namespace kb
