// A test of whether the seeds of all minibatches scatter equally, as the mean steps take them to do.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "optim/mean_steps.h"

namespace kb {

struct EqualVariancesTest {
  double statistic = 0, p = 1;  // p: probability of such a statistic, or a greater one, if sigma is one
  int64_t degrees = 0;
  int64_t least = 0, greatest = 0;  // minibatches of the least and of the greatest scatter
  double least_deviation = 0, greatest_deviation = 0;
  bool rejects() const { return p < 0.05; }
};

// Tests by Bartlett's statistic (Bartlett 1937, Proc. R. Soc. A 160, 268) whether log steps have one variance at all
// minibatches. With three to five normal seeds each it rejects 4 to 5 % of studies of one sigma, with two 1 to 3 %.
// Minibatches with fewer than two runs, with runs that were given up, and those whose runs all tie have no part in it.
// Returns nothing for fewer than two others.
std::optional<EqualVariancesTest> test_equal_variances(std::span<const StepsToTarget> measured);

// Returns whether several runs reached the target in the same steps, and none in others.
bool all_tie(const StepsToTarget& runs);

}  // namespace kb
