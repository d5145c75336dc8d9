// A note on a rank that the others wait for.
#pragma once
#include <string>

#include "recipes/train/metrics.h"

namespace kb {

// Returns a NOTE on the rank that computes longest, such as "NOTE: rank 5 (node3): 1.31 x the median of the others; 14
// ms of a step wait for it"; "" if it takes at most kSlowRank times that median.
inline constexpr double kSlowRank = 1.1;
std::string slow_rank_text(const RanksReport& report);

}  // namespace kb
