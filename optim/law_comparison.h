// Two studies beside each other: ratios of what their fits gave, and the law of their best learning rates.
#pragma once
#include <optional>
#include <span>
#include <utility>

#include "optim/critical_batch.h"

namespace kb {

// Returns an estimate of one fit over that of another one, of other runs, with its 95 % interval: in logarithms the
// distances of the ends of both intervals add up as squares (method of variance estimates recovery; Zou and Donner
// 2008, Statistics in Medicine 27, 1693). They are scaled by Student's t before, from each fit's degrees of freedom to
// those of both together: unscaled they cover 98 to 99 %. An end is open where either one's is.
Estimate ratio_of(const ScalingFit& first, const ScalingFit& second, Estimate ScalingFit::*estimate);

// Best rates of minibatches, eta(B) = eta_max / (1 + B_n / B) (McCandlish et al. 2018, equation 2.6): as far as
// minibatches are small they grow in proportion.
struct RateLaw {
  double eta_max = 0;
  double noise_batch = 0;  // B_n, samples: the minibatch at which the rate is half of the greatest one
  double rms = 0;          // root mean square of the residuals of log eta
  double rate_at(double minibatch) const { return eta_max / (1 + noise_batch / minibatch); }
};

// Least squares of log eta, of pairs of a minibatch and its best rate, ascending. Nothing of fewer than three, or where
// B_n lies beyond kWidestCritical times the minibatches: the rates do not bend.
std::optional<RateLaw> fit_rate_law(std::span<const std::pair<double, double>> best);

}  // namespace kb
