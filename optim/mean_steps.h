// The mean number of steps to a target at each minibatch, from runs some of which were given up before the target.
//
// The steps of a minibatch B are taken as log-normal, log S ~ N(mu_B, sigma_B^2), where sigma_B is a power of B
// (optim/seed_scatter.h): two or three seeds of one minibatch say little about it, and those of all together enough. A
// run that was given up says that it needs more steps than it took (right-censored; Tobin 1958). The means and sigma
// have the greatest likelihood; they are found by expectation and maximisation (Dempster, Laird and Rubin 1977), with
// sigma^2 restricted to its degrees of freedom.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "optim/seed_scatter.h"

namespace kb {

// Runs of one minibatch at one learning rate, one a seed. A run that diverged is in neither list.
struct StepsToTarget {
  int64_t minibatch = 0;
  std::vector<double> steps = {};     // steps of the runs that reached the target
  std::vector<double> given_up = {};  // steps of the runs that were given up
  double resolution = 0;              // distance between evaluations, as a share of the steps
};

// An interval. An end that is not known is 0 or infinity.
struct ConfidenceInterval {
  double low = 0, high = 0;
  bool has_low() const { return low > 0; }
  bool has_high() const { return high < std::numeric_limits<double>::infinity(); }
};

struct MeanSteps {
  int64_t minibatch = 0;
  double steps = 0;     // geometric mean of the runs' steps
  double variance = 0;  // variance of the mean's logarithm by the law of sigma; 0 if sigma is not known
  std::optional<ConfidenceInterval> interval = {};  // 95 %; nothing if sigma is not known
  double degrees = 0;                               // degrees of freedom of the variance; 0 if sigma is not known
};

struct PooledSteps {
  std::vector<MeanSteps> means;            // one for each minibatch at which a run reached the target, ascending
  std::optional<ScatterLaw> scatter = {};  // sigma, of the log steps of one seed; nothing if it is not known

  // Returns sigma at a minibatch; 0 if it is not known.
  double deviation_at(int64_t minibatch) const {
    return scatter ? scatter->at(static_cast<double>(minibatch)).deviation : 0;
  }
};

// Returns the means, with intervals by Student's t. The variance of a mean has two parts: sigma^2 divided by the number
// of runs, where one that was given up counts less; and resolution^2 / 12, since steps are known to within the
// resolution, and to within one step at best. An interval takes sigma by the law and by the minibatch's own runs;
// MeanSteps::variance, by which a fit weighs the means, takes the law alone, since runs that scatter little by chance
// would weigh too much. `measured` ascends by minibatch. Throws Error when steps are not above 0.
PooledSteps pooled_steps(std::span<const StepsToTarget> measured);

// Returns the mean steps of one minibatch's runs by the same likelihood as pooled_steps(), with a sigma that is known;
// 0 counts runs that were given up as if they had reached the target then. Returns infinity if no run reached it.
double censored_mean(const StepsToTarget& runs, double deviation);

// Returns the geometric mean of values greater than 0; there is at least one.
double geometric_mean(std::span<const double> values);

}  // namespace kb
