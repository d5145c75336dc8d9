#include "optim/noise_scale.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "optim/distributions.h"

namespace kb {
namespace {

constexpr double kTail = 0.025;

// An interval of a ratio a / b >= 0 of two means, from their variances and covariance: all r with (a - r b)^2 <= t^2
// (var_a - 2 r cov + r^2 var_b), which is square r^2 - 2 linear r + constant <= 0. It has no upper end if b may be 0.
// t is Student's at the degrees of freedom of the variances.
struct RatioInterval {
  double low = 0;
  std::optional<double> high;
};

RatioInterval fieller(double a, double b, double var_a, double var_b, double cov, double degrees) {
  const double t = student_t(kTail, degrees), t2 = t * t;
  const double square = b * b - t2 * var_b, linear = a * b - t2 * cov, constant = a * a - t2 * var_a;
  const double root = std::sqrt(std::max(0.0, linear * linear - square * constant));
  RatioInterval interval;
  if (constant > 0)
    // This form of the smaller root also holds for square = 0.
    interval.low = std::max(0.0, constant / (linear + root));
  if (square > 0) interval.high = std::max(0.0, (linear + root) / square);
  return interval;
}

}  // namespace

NoiseSample noise_sample(const GradientNorms& norms, int64_t workers, int64_t per_worker) {
  if (workers < 2 || per_worker < 1)
    throw std::invalid_argument("noise scale: it takes two workers or more, of a sample or more");
  const double small = static_cast<double>(per_worker), big = small * static_cast<double>(workers);
  return {(big * norms.minibatch - small * norms.worker) / (big - small),
          (norms.worker - norms.minibatch) / (1 / small - 1 / big)};
}

NoiseAverage::NoiseAverage(double decay) : decay_(decay) {
  if (!(decay >= 0 && decay < 1)) throw std::invalid_argument("noise scale: its decay lies in [0, 1)");
}

void NoiseAverage::add(const NoiseSample& sample) {
  if (!std::isfinite(sample.gradient2) || !std::isfinite(sample.trace)) return;
  const auto average = [this](double& sum, double value) { sum = decay_ * sum + value; };
  average(weight_, 1);
  weight2_ = decay_ * decay_ * weight2_ + 1;
  average(gradient2_, sample.gradient2);
  average(trace_, sample.trace);
  average(gradient2_squared_, sample.gradient2 * sample.gradient2);
  average(trace_squared_, sample.trace * sample.trace);
  average(product_, sample.gradient2 * sample.trace);
}

std::optional<NoiseScale> NoiseAverage::estimate() const {
  const double count = weight_ * weight_ / weight2_;  // number of steps of equal weight that would say as much
  if (!(count > 1)) return std::nullopt;
  const double gradient2 = gradient2_ / weight_, trace = trace_ / weight_;
  const auto variance_of_mean = [&](double product, double a, double b) {
    return (product / weight_ - a * b) / (count - 1);
  };
  const RatioInterval interval =
      fieller(trace, gradient2, std::max(0.0, variance_of_mean(trace_squared_, trace, trace)),
              std::max(0.0, variance_of_mean(gradient2_squared_, gradient2, gradient2)),
              variance_of_mean(product_, trace, gradient2), std::max(1.0, count - 1));
  return NoiseScale{gradient2, trace, trace / gradient2, interval.low, interval.high};
}

}  // namespace kb
