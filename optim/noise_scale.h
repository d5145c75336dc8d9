// The gradient noise scale of a training, from norms that data parallelism computes anyway (McCandlish et al. 2018,
// arXiv 1812.06162): B_simple = tr(Sigma) / |G|^2, where G is the gradient of the mean loss over all data and Sigma the
// covariance of one sample's gradient. Enlarging a minibatch far below B_simple gains as much as perfect scaling;
// enlarging one far above it gains hardly anything.
#pragma once
#include <cstdint>
#include <optional>

namespace kb {

/// Squared norms of the mean gradients of one step, whose minibatch has `workers` x `per_worker` samples.
struct GradientNorms {
  double worker = 0;     ///< mean over the workers of |gradient over per_worker samples|^2
  double minibatch = 0;  ///< |gradient over the whole minibatch|^2
};

/// Unbiased estimates from one step. Each may be negative.
struct NoiseSample {
  double gradient2 = 0;  ///< estimate of |G|^2
  double trace = 0;      ///< estimate of tr(Sigma)
};

/// Estimates |G|^2 and tr(Sigma) by appendix A.1 of McCandlish et al. 2018, with B_small = per_worker and B_big =
/// workers x per_worker. The samples of a minibatch count as drawn independently. If epochs draw N samples
/// without replacement, gradient2 estimates |G|^2 - tr(Sigma) / N. Throws std::invalid_argument unless
/// workers >= 2 and per_worker >= 1.
NoiseSample noise_sample(const GradientNorms& norms, int64_t workers, int64_t per_worker);

/// The gradient noise scale, in samples.
struct NoiseScale {
  double gradient2 = 0, trace = 0;  ///< moving averages of the estimates
  double samples = 0;               ///< trace / gradient2; not finite or negative if gradient2 is not above 0
  double low = 0;                   ///< the 95 % interval begins at low and ends at high
  std::optional<double> high = {};  ///< nothing: the interval has no upper end
};

/// Averages |G|^2 and tr(Sigma) over steps, each by itself, since the mean of their ratio is biased (appendix A.1).
class NoiseAverage {
 public:
  /// A step counts by decay^age, its age in steps; `decay` lies in [0, 1).
  explicit NoiseAverage(double decay = kDecay);

  static constexpr double kDecay = 0.99;

  /// Takes the estimates of a step. Those that are not finite (after a loss scale that was too large) are left out.
  void add(const NoiseSample& sample);
  /// Returns the noise scale; nothing before the second step. The interval is Fieller's (1954) for a ratio of means, by
  /// Student's t, whose upper end allows for a skewed trace (fieller_of_positive()): the degrees of freedom are the
  /// number of steps of equal weight that would say as much, less 1, but not below 1. It takes the steps as independent
  /// and of one distribution, so that a noise scale that grows lies outside it.
  std::optional<NoiseScale> estimate() const;

 private:
  double decay_;
  double weight_ = 0, weight2_ = 0;   // sum of the weights, sum of their squares
  double gradient2_ = 0, trace_ = 0;  // weighted sums of the estimates
  double gradient2_squared_ = 0, trace_squared_ = 0, product_ = 0;
};

}  // namespace kb
