#include "optim/noise_scale.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "optim/ratio_interval.h"

namespace kb {

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
      fieller_of_positive({trace, gradient2, std::max(0.0, variance_of_mean(trace_squared_, trace, trace)),
                           std::max(0.0, variance_of_mean(gradient2_squared_, gradient2, gradient2)),
                           variance_of_mean(product_, trace, gradient2), std::max(1.0, count - 1)});
  return NoiseScale{gradient2, trace, trace / gradient2, interval.low, interval.high};
}

}  // namespace kb
