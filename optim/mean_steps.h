// Mean steps to a target of the runs of each minibatch, runs that were given up before it among them.
//
// Steps of a minibatch are taken as log-normal, log S ~ N(mu_B, sigma^2), with one sigma for all minibatches: two or
// three seeds of one say little of it, those of all together enough. A run that was given up says that its steps are
// more than those that it took (right-censored; Tobin 1958). Means and sigma are those of the greatest likelihood,
// found by expectation and maximisation (Dempster, Laird and Rubin 1977); sigma^2 is divided by its degrees of freedom.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace kb {

// Runs of one minibatch at one learning rate, one a seed. A run that diverged is in neither list.
struct StepsToTarget {
  int64_t minibatch = 0;
  std::vector<double> steps = {};     // those that reached the target took
  std::vector<double> given_up = {};  // steps that the other runs took
  double resolution = 0;              // distance of evaluations, as a share of the steps
};

// An end that is not known is 0 or infinity.
struct ConfidenceInterval {
  double low = 0, high = 0;
  bool has_low() const { return low > 0; }
  bool has_high() const { return high < std::numeric_limits<double>::infinity(); }
};

struct MeanSteps {
  int64_t minibatch = 0;
  double steps = 0;                                 // geometric mean
  double variance = 0;                              // that of its logarithm; 0 where sigma is not known
  std::optional<ConfidenceInterval> interval = {};  // 95 %; nothing where sigma is not known
};

struct PooledSteps {
  std::vector<MeanSteps> means;  // one a minibatch at which a run reached the target, ascending
  double deviation = 0;          // sigma: of a seed's log steps; 0 where it is not known
  int64_t degrees = 0;           // degrees of freedom of sigma
};

// Returns the means with intervals by Student's t. The variance of a mean is sigma^2 over the runs (less for one that
// was given up) plus that of steps which are known to within their resolution alone, resolution^2 / 12, and at least
// that of whole steps. `measured` ascends by minibatch. Throws Error of steps that are not above 0.
PooledSteps pooled_steps(std::span<const StepsToTarget> measured);

// All values are greater than 0.
double geometric_mean(std::span<const double> values);

}  // namespace kb
