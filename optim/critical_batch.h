// The critical minibatch of a training: how the number of steps to a target falls as the minibatch grows, and where it
// stops falling.
//   S(B) = S_min (1 + (B_crit / B)^k)^(1 / k) steps,   E(B) = B S(B) samples,   E_min = S_min B_crit
// In McCandlish et al. 2018 (arXiv 1812.06162), section 2, k is 1, and then (S / S_min - 1) (E / E_min - 1) = 1. With
// another k, (S / S_min)^k = 1 + (B_crit / B)^k: small and large minibatches follow the same lines, and the bend
// between them is sharper (k > 1) or rounder (k < 1). A training at B_crit takes 2^(1 / k) S_min steps and 2^(1 / k)
// E_min samples.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optim/log_law.h"
#include "optim/mean_steps.h"

namespace kb {

// A fitted number with its 95 % interval, by profile likelihood. An interval with two open ends says nothing.
struct Estimate {
  double value = 0;
  ConfidenceInterval interval = {};
  bool is_told() const { return interval.has_low() || interval.has_high(); }
};

inline constexpr size_t kLeastMinibatches = 3;  // a fit with k = 1 has two free numbers
inline constexpr size_t kLeastOfFreeBend = 6;   // a fit with k free has three

// B_crit is sought up to this factor below the smallest and above the largest minibatch; so far away, it changes their
// steps by 1 %. An interval that reaches this bound is open: its end is 0 or infinity.
inline constexpr double kWidestCritical = 100;

// k is sought from 1 / kWidestBend to kWidestBend.
inline constexpr double kWidestBend = 8;

struct ScalingLaw {
  double s_min = 0, b_crit = 0, k = 1;
  double steps_at(double minibatch) const;
  double samples_at(double minibatch) const { return minibatch * steps_at(minibatch); }
};

// The law fitted to log S by least squares. The weight of a minibatch is 1 / (v + t): v is the variance of its mean,
// and t the variance of the minibatches around the law beyond that (Paule and Mandel 1982). So a minibatch with many
// seeds does not outweigh the others when the choice of the rate, or the law itself, is the greater uncertainty.
struct ScalingFit {
  Estimate s_min;   // S_min, steps
  Estimate b_crit;  // B_crit, samples a minibatch
  Estimate e_min;   // E_min, samples
  // Samples a minibatch: ends of perfect scaling and of gain. How steps bend there is what k says, so that their
  // intervals are open with fewer than kLeastOfFreeBend minibatches.
  Estimate perfect_end, gain_end;
  std::optional<Estimate> k;           // nothing: k was fixed at 1
  std::vector<double> residuals = {};  // one a minibatch: measured steps over fitted steps, minus 1
  double rms = 0;                      // root mean square of the residuals

  ScalingLaw law() const { return {s_min.value, b_crit.value, k ? k->value : 1}; }
  // Returns whether the minibatches are too few to free k: intervals are of 95 % only if k is 1.
  bool assumes_k() const { return residuals.size() < kLeastOfFreeBend; }
  double steps_at(double minibatch) const { return law().steps_at(minibatch); }
  double samples_at(double minibatch) const { return law().samples_at(minibatch); }
};

// An F test with 1 and `degrees` degrees of freedom of whether k is 1.
struct LawTest {
  double f = 0, p = 1;
  int64_t degrees = 0;
  bool rejects() const { return p < 0.05; }
};

struct CriticalBatch {
  ScalingFit answer;                 // k is free, or 1 with fewer than kLeastOfFreeBend minibatches
  std::optional<ScalingFit> of_one;  // the fit with k = 1, if the answer's k is free
  std::optional<LawTest> test;       // nothing: k was not free, or the fit with k = 1 is at a bound of the search
};

// Fits the law. An interval holds the values at which the least sum of squares stays below that of the fit times 1 +
// F(1, degrees; 0.95) / degrees (Bates and Watts 1988, section 6.1). The degrees of freedom are the minibatches less
// the fitted numbers: all that moves the mean of a minibatch, its seeds or the choice of its rate, counts as scatter.
// With four degrees of freedom or fewer, the limit is at least the square of Student's t of the seeds above the fit.
// Throws Error when there are fewer than kLeastMinibatches or they do not ascend.
CriticalBatch fit_critical_batch(std::span<const MeanSteps> measured);

// Returns an interval of 95 % for the fitted steps at each of these minibatches.
std::vector<ConfidenceInterval> steps_band(std::span<const MeanSteps> measured, std::span<const double> minibatches);

// With k = 1 the law is a line, E(B) = E_min + S_min B. It is fitted by least squares of the samples E, in which a
// minibatch counts the more the more samples it takes; in the logarithmic fit all minibatches count alike.
struct LinearBatchFit {
  double e_min = 0, s_min = 0;  // samples, steps; noise can make either 0 or negative
  std::optional<double> b_crit() const { return e_min > 0 && s_min > 0 ? std::optional(e_min / s_min) : std::nullopt; }
};
LinearBatchFit fit_linear_batch(std::span<const MeanSteps> measured);

}  // namespace kb
