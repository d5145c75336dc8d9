// What a sweep found, a line a minibatch.
#pragma once
#include <string>

#include "recipes/study/sweep_plan.h"

namespace kb {

// Returns a table of the minibatches that were opened: the best trial's values, its steps to the target, their median
// and range over seeds, its samples, and how many trials ended how. A value at the edge of what was tried stands behind
// "<=" or ">=": the best may lie beyond.
std::string sweep_table(const SweepPlan& plan);

// "lr 0.05, momentum 0.9"
std::string values_text(const PlannedTrial& trial);

}  // namespace kb
