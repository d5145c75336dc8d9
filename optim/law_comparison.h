// Comparisons of two studies: the ratio of what their fits gave. Also the law of a study's best learning rates.
#pragma once
#include <optional>
#include <span>

#include "optim/critical_batch.h"

namespace kb {

// Returns an estimate of one fit divided by that of another fit, made of other runs, with a 95 % interval. In
// logarithms, the distances from the estimates to the ends of their intervals add as squares (method of variance
// estimates recovery; Zou and Donner 2008, Statistics in Medicine 27, 1693). First they are rescaled from each fit's
// quantile of Student's t to that of the degrees of freedom of both together, by Satterthwaite's formula: a small study
// with much scatter has nearly its own. Those of a fit with one degree of freedom, which is of three minibatches, add
// as they are. In pairs of simulated studies the interval held the true ratio of S_min and of B_crit in 99 to 100 %
// with three minibatches in one of them, in 95 to 98 % with four to six beside nine (150 to 300 pairs each). An end is
// open when it is open in either fit.
Estimate ratio_of(const ScalingFit& first, const ScalingFit& second, Estimate ScalingFit::*estimate);

// The best of the learning rates that were tried at a minibatch.
struct BestRateAt {
  double minibatch = 0, rate = 0;
  double spacing = 0;  // log of the factor between rates tried around it: the best of all rates lies within half of it
};

// The law of the best learning rate of a minibatch, eta(B) = eta_max / (1 + B_n / B) (McCandlish et al. 2018, equation
// 2.6). It is proportional to B while B is far below B_n.
struct RateLaw {
  Estimate eta_max;
  Estimate noise_batch;  // samples: at the minibatch B_n the rate is half of eta_max
  double rms = 0;        // root mean square of the residuals of log eta
};

// Fits the law by least squares of log eta to the best rates, sorted by minibatch. Intervals are of 95 %, by profile
// likelihood as those of fit_critical_batch(), with the variance of the residuals, which is at least that of a rate
// that is known to within the spacing. Three minibatches have one degree of freedom: their intervals are mostly open.
// Returns nothing when there are fewer than three, or when B_n would be beyond kWidestCritical times the minibatches,
// because then no bend is seen.
std::optional<RateLaw> fit_rate_law(std::span<const BestRateAt> best);

}  // namespace kb
