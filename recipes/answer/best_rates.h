// The best learning rate of each minibatch.
//
// Rates are compared by the runs under the seeds that all rates of the minibatch have, such as those of a sweep's
// search, or by all runs if there is no such seed. A rate counts if more than half of these runs reached the target,
// more than half as many as at any other such rate, and at most half of all runs diverged. The best one has the fewest
// mean steps. The mean is that by which S is told (optim/mean_steps.h), with the sigma of all best rates: a run that
// was given up counts as one of more steps than it took. Of tied rates those with the most runs are taken, and the
// middle one of these, since the fewest steps lie between rates that are equally good.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "optim/mean_steps.h"
#include "recipes/answer/rate_results.h"

namespace kb {

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
