// Critical minibatch of a training: how the steps to a target fall as the minibatch grows, and where they stop to.
//   S(B) = S_min (1 + (B_crit / B)^k)^(1 / k) steps,   E(B) = B S(B) samples,   E_min = S_min B_crit
// McCandlish et al. 2018 (arXiv 1812.06162), section 2, have k = 1: (S / S_min - 1) (E / E_min - 1) = 1. With k free it
// is (S / S_min)^k = 1 + (B_crit / B)^k: perfect scaling and the fewest steps are those of k = 1, the bend between them
// is sharper (k > 1) or rounder. At B_crit a training takes 2^(1 / k) times the fewest steps, and samples.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optim/mean_steps.h"

namespace kb {

// 95 %, by profile likelihood.
struct Estimate {
  double value = 0;
  ConfidenceInterval interval = {};
};

inline constexpr size_t kLeastMinibatches = 3;  // a fit with k = 1 has two numbers
inline constexpr size_t kLeastOfFreeBend = 6;   // a fit with k free has three

// B_crit is sought within this factor of the measured minibatches: so far outside them it changes their steps by 1 %.
// An interval that reaches so far is open there: its end is 0 or infinity.
inline constexpr double kWidestCritical = 100;

// k is sought from 1 / kWidestBend to kWidestBend.
inline constexpr double kWidestBend = 8;

// Perfect scaling ends where steps are this share above those of the law that twice the minibatch takes half of them,
// E_min / B; gain ends where they are no more than this share above the fewest, S_min. At k = 1 that is at 0.2 B_crit
// and at 4 B_crit, from where a doubling saves 10 % of the steps.
inline constexpr double kPerfectExcess = 0.2, kGainExcess = 0.25;

struct ScalingLaw {
  double s_min = 0, b_crit = 0, k = 1;
  double steps_at(double minibatch) const;
  double samples_at(double minibatch) const { return minibatch * steps_at(minibatch); }
};

// The law fitted to log S by least squares. A minibatch weighs 1 / (v + t): v is the variance of its mean, t what the
// minibatches scatter around the law beyond that (Paule and Mandel 1982); so many seeds of one do not outweigh the
// others where a rate's choice or the law itself is what is uncertain.
struct ScalingFit {
  Estimate s_min;                      // steps
  Estimate b_crit;                     // samples of a step
  Estimate e_min;                      // samples
  Estimate perfect_end, gain_end;      // minibatches
  std::optional<Estimate> k;           // nothing: it was fixed at 1
  std::vector<double> residuals = {};  // of each minibatch: measured steps over the fitted ones, minus 1
  double rms = 0;                      // of the residuals

  ScalingLaw law() const { return {s_min.value, b_crit.value, k ? k->value : 1}; }
  double steps_at(double minibatch) const { return law().steps_at(minibatch); }
  double samples_at(double minibatch) const { return law().samples_at(minibatch); }
};

// Whether k = 1 holds: an F test with 1 and `degrees` degrees of freedom.
struct LawTest {
  double f = 0, p = 1;
  int64_t degrees = 0;
  bool rejects() const { return p < 0.05; }
};

struct CriticalBatch {
  ScalingFit answer;                 // k free; k = 1 where there are fewer than kLeastOfFreeBend minibatches
  std::optional<ScalingFit> of_one;  // beside it: k = 1
  std::optional<LawTest> test;       // nothing: the law was not tested
};

// An interval holds the values at which the least sum of squares stays below that of the fit times
// 1 + F(1, degrees; 0.95) / degrees (Bates and Watts 1988, section 6.1). Its degrees of freedom are the minibatches
// less the numbers that are fitted: whatever moves a minibatch's mean - its seeds, its choice of a rate - counts as
// scatter. Throws Error of fewer than kLeastMinibatches.
CriticalBatch fit_critical_batch(std::span<const MeanSteps> measured);

// The band of the answer's steps at these minibatches, of 95 % at each.
std::vector<ConfidenceInterval> steps_band(std::span<const MeanSteps> measured, std::span<const double> minibatches);

// With k = 1 the law is a line, E(B) = E_min + S_min B, fitted by least squares of the samples: it weighs a minibatch
// by its samples where the fit in log space weighs all alike.
struct LinearBatchFit {
  double e_min = 0, s_min = 0;  // samples, steps; noise can bring either to 0 and below
  std::optional<double> b_crit() const { return e_min > 0 && s_min > 0 ? std::optional(e_min / s_min) : std::nullopt; }
};
LinearBatchFit fit_linear_batch(std::span<const MeanSteps> measured);

}  // namespace kb
