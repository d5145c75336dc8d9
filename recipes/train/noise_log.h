// Gradient noise scale as a run goes (--noise-scale, and beside AdaScale; optim/noise_scale.h).
#pragma once
#include <optional>
#include <span>

#include "optim/noise_scale.h"
#include "recipes/config/plan.h"
#include "runtime/session.h"

namespace kb {

class NoiseLog {
 public:
  // `before`: norms of the steps from 0 on that were taken earlier; not finite: not known. The plan must outlive it.
  NoiseLog(const TrainConfig& config, int64_t per_worker, const RunPlan& plan, std::span<const GradientNorms> before);
  // Takes a step of a training program that was compiled with Workers::gradient_norms, `age` steps after it was taken,
  // and returns its norms. Nothing where the run does not ask for them.
  std::optional<GradientNorms> read(const Session& training, int64_t step, int age);
  // Nothing before two steps were taken.
  std::optional<NoiseScale> estimate() const { return average_.estimate(); }

 private:
  int64_t workers(int64_t step) const;
  void take(const GradientNorms& norms, int64_t step);

  const bool is_on_;
  const int64_t per_worker_;
  const RunPlan& plan_;
  NoiseAverage average_;
};

// "noise scale 876 (610 to 1300)" samples, its 95 % interval in parentheses.
std::string to_text(const NoiseScale& noise);

}  // namespace kb
