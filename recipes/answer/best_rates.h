// Runs by minibatch, learning rate and setting, and the best learning rate of each minibatch.
//
// Rates are compared by the runs under the seeds that all rates of the minibatch have, such as those of a sweep's
// search, or by all runs if there is no such seed. A rate counts if more than half of these runs reached the target,
// more than half as many as at any other such rate, and at most half of all runs diverged. The best one has the fewest
// mean steps. The mean is that by which S is told (optim/mean_steps.h), with the sigma of all best rates: a run that
// was given up counts as one of more steps than it took. Of tied rates those with the most runs are taken, and the
// middle one of these, since the fewest steps lie between rates that are equally good.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "optim/mean_steps.h"
#include "recipes/answer/measurement.h"

namespace kb {

// The runs of one minibatch at one learning rate and one setting of other values that were varied.
struct RateResult {
  std::optional<double> rate;         // nothing: rates were not noted
  std::string setting;                // other values that were varied: "momentum=0.95"; empty: only the rate was
  std::vector<double> steps;          // steps of the runs that reached the target
  std::vector<double> given_up = {};  // steps, if known, of the runs that neither reached it nor diverged
  size_t runs = 0, diverged = 0, hopeless = 0;
  std::vector<Measurement> seeds;  // all runs
  double eval_every = 0;           // most steps between evaluations of a run; 0: none was noted
  std::optional<double> seconds;   // mean over the runs that reached the target, if all have them
  PolicyFlags policy = {};         // how their workers were kept alike

  // Returns the geometric mean over the runs that reached the target, of which there is one at least, and those that
  // were given up, as if these had reached it then: a lower bound if there are such.
  double mean_steps() const;

  StepsToTarget steps_to_target(int64_t minibatch) const;
};

struct MinibatchResults {
  int64_t minibatch = 0;
  std::vector<RateResult> rates = {};  // in ascending order of rate, then setting
};

// Returns the seeds that every rate of the minibatch has.
std::set<int64_t> common_seeds(const MinibatchResults& at);

// Returns only the runs under the seeds that every rate of the minibatch has, so that like is compared with like: a
// sweep gives its best trial further seeds. Returns all runs if there is no such seed.
MinibatchResults of_common_seeds(MinibatchResults at);

// Returns the runs of each minibatch, in ascending order.
std::vector<MinibatchResults> results_by_minibatch(std::span<const Measurement> runs);

struct BestRate {
  size_t place = 0;      // index among the rates of the minibatch
  bool is_tied = false;  // true if another rate has the same mean steps, whatever its setting
  bool operator==(const BestRate&) const = default;
};

// Returns the best rate of each minibatch; nothing if no rate counts.
std::vector<std::optional<BestRate>> best_rates(std::span<const MinibatchResults> all);

// Returns the mean steps by which each rate of the minibatch is compared, with this sigma of the seeds' log steps (0:
// not known); infinity for a rate that does not count.
std::vector<double> compared_steps(const MinibatchResults& at, double deviation);

// Returns the least and the greatest of the rates that seeds do not tell from the best one: their mean log steps exceed
// its own by less than the 95 % bound of a difference, by the scatter of all seeds. A rate at which most runs were
// given up has the mean that it would have if they had reached the target then, since more steps are not known. An end
// is open where the rates tried end. Returns nothing without a scatter, and if fewer than two rates were tried.
std::optional<ConfidenceInterval> rate_interval(const MinibatchResults& at, const RateResult& best,
                                                const PooledSteps& pooled);

}  // namespace kb
