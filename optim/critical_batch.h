// Critical minibatch of a training: how the steps to a target fall as the minibatch grows, and where they stop to.
// McCandlish et al. 2018 (arXiv 1812.06162), section 2: (S / S_min - 1) (E / E_min - 1) = 1, which says
//   S(B) = S_min (1 + B_crit / B) steps,   E(B) = B S(B) = E_min (1 + B / B_crit) samples,   E_min = S_min B_crit.
// At B_crit a training takes twice the fewest steps and twice the fewest samples.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kb {

// Steps of the runs that reached the target at one minibatch, one a seed.
struct StepsToTarget {
  int64_t minibatch = 0;
  std::vector<double> steps = {};
};

// Over runs of one minibatch; greater than 0. It is the mean that a fit in log space takes.
double geometric_mean(std::span<const double> values);

// Percentiles 2.5 and 97.5 of an estimate over resamples.
struct ConfidenceInterval {
  double low = 0, high = 0;
};

struct Estimate {
  double value = 0;
  ConfidenceInterval interval = {};
};

// Draws are a pure function of `seed`, the resample and the minibatch's place.
struct Resampling {
  int64_t resamples = 1000;
  uint32_t seed = 0;
};

// Interval of the geometric mean; nothing of a single run.
std::optional<ConfidenceInterval> interval_of_mean(const StepsToTarget& runs, const Resampling& resampling);

inline constexpr size_t kLeastMinibatches = 3;  // of a fit; it has two numbers

// B_crit is sought within this factor of the measured minibatches: so far outside them it changes their steps by 1 %.
inline constexpr double kWidestCritical = 100;

struct CriticalBatch {
  Estimate s_min;   // steps
  Estimate b_crit;  // samples of a step
  Estimate e_min;   // samples
  // The interval of B_crit ends where it is no longer sought. Lower bound: all minibatches may lie in the region of
  // perfect scaling, so that B_crit is at least interval.low, S_min at most its interval's high end, and E_min alone is
  // known. Upper bound: all may lie where a larger minibatch saves nothing; B_crit is at most interval.high, E_min at
  // most its interval's high end, and S_min alone is known.
  bool b_crit_is_lower_bound = false, b_crit_is_upper_bound = false;
  std::vector<double> residuals = {};  // of each minibatch: measured steps over the fitted ones, minus 1
  double rms = 0;                      // of the residuals

  double steps_at(double minibatch) const { return s_min.value * (1 + b_crit.value / minibatch); }
  double samples_at(double minibatch) const { return minibatch * steps_at(minibatch); }
};

// Fits log S(B) to the logarithms of the steps by least squares; a minibatch counts once, by its geometric mean.
// Intervals are bootstrapped: a resample is the fitted curve, plus the mean of seeds that are drawn anew from those of
// the minibatch, plus a residual drawn from all minibatches', shrunk to the variance that the seeds do not explain. Of
// one run a minibatch that is the plain residual bootstrap (Davison and Hinkley 1997, section 6.2.3).
// `measured` ascends by minibatch. Throws Error of fewer than 3 minibatches, of steps that are not above 0, of
// resamples outside [100, 1000000].
CriticalBatch fit_critical_batch(std::span<const StepsToTarget> measured, const Resampling& resampling = {});

// The same law as a line, E(B) = E_min + S_min B, fitted by least squares of the samples: it weighs a minibatch by its
// samples where the fit in log space weighs all alike.
struct LinearBatchFit {
  double e_min = 0, s_min = 0;  // samples, steps; noise can bring either to 0 and below
  std::optional<double> b_crit() const { return e_min > 0 && s_min > 0 ? std::optional(e_min / s_min) : std::nullopt; }
};
LinearBatchFit fit_linear_batch(std::span<const StepsToTarget> measured);

}  // namespace kb
