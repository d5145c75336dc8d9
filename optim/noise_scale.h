// Gradient noise scale of a training, from norms that data parallelism has anyway (McCandlish et al. 2018, arXiv
// 1812.06162): B_simple = tr(Sigma) / |G|^2, with G the gradient of the mean loss over all data and Sigma the
// covariance of one sample's gradient. Minibatches far below it gain from being larger as perfect scaling does; far
// above it hardly.
#pragma once
#include <cstdint>
#include <optional>

namespace kb {

/// Squared norms of one step's mean gradients, of a minibatch of `workers` x `per_worker` samples.
struct GradientNorms {
  double worker = 0;     ///< mean over the workers of |gradient over per_worker samples|^2
  double minibatch = 0;  ///< |gradient over the whole minibatch|^2
};

/// Unbiased estimates by one step. Each may be negative.
struct NoiseSample {
  double gradient2 = 0;  ///< |G|^2
  double trace = 0;      ///< tr(Sigma)
};

/// McCandlish et al. 2018, appendix A.1, with B_small = per_worker and B_big = workers x per_worker. Samples of a
/// minibatch are taken as drawn independently, which few epochs over a small set only nearly are. Throws
/// std::invalid_argument unless workers >= 2 and per_worker >= 1.
NoiseSample noise_sample(const GradientNorms& norms, int64_t workers, int64_t per_worker);

/// Gradient noise scale, in samples.
struct NoiseScale {
  double gradient2 = 0, trace = 0;  ///< moving averages
  double samples = 0;               ///< trace / gradient2; not finite or negative where gradient2 is not above 0
  double low = 0;                   ///< ends of its 95 % interval
  std::optional<double> high = {};  ///< nothing: the averages bound it on one side alone
};

/// Moving averages of numerator and denominator apart, since the mean of their ratio is biased (appendix A.1).
class NoiseAverage {
 public:
  /// `decay`: of the averages, a step, in [0, 1): steps count by decay^age.
  explicit NoiseAverage(double decay = kDecay);

  static constexpr double kDecay = 0.99;

  /// Takes a step. One that is not finite (a loss scale that was too large) counts for nothing.
  void add(const NoiseSample& sample);
  /// Nothing before the second step. The interval is Fieller's (1954) for a ratio of means; it takes the steps that an
  /// average holds as independent and of one distribution, so that a noise scale that grows lies outside it.
  std::optional<NoiseScale> estimate() const;

 private:
  double decay_;
  double weight_ = 0, weight2_ = 0;   // sums of the weights, and of their squares
  double gradient2_ = 0, trace_ = 0;  // weighted sums
  double gradient2_squared_ = 0, trace_squared_ = 0, product_ = 0;
};

}  // namespace kb
