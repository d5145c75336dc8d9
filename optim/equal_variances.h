// A test of whether the seeds of all minibatches scatter by one law, as the mean steps take them to do.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "optim/mean_steps.h"

namespace kb {

// The standard deviation of the log steps of one minibatch's seeds, and that of the law.
struct ScatterAt {
  int64_t minibatch = 0;
  double deviation = 0, of_law = 0;
};

struct EqualVariancesTest {
  double statistic = 0, p = 1;  // p: probability of such a statistic, or a greater one, if the law holds
  int64_t degrees = 0;
  ScatterAt least, greatest;  // minibatches of the least and of the greatest scatter over the law's
  bool rejects() const { return p < 0.05; }
};

// Tests by Bartlett's statistic (Bartlett 1937, Proc. R. Soc. A 160, 268) whether log steps, in units of the law's
// sigma, have one variance at all minibatches. The law was fitted to the same runs, so that it rejects less often than
// it says. Minibatches with fewer than two runs, with runs that were given up, and those whose runs all tie have no
// part in it. Returns nothing for fewer than two others.
std::optional<EqualVariancesTest> test_equal_variances(std::span<const StepsToTarget> measured, const ScatterLaw& law);

// Returns whether several runs reached the target in the same steps, and none in others.
bool all_tie(const StepsToTarget& runs);

}  // namespace kb
