// The table of a sweep's findings, with a line for each minibatch.
#pragma once
#include <string>

#include "recipes/sweep/sweep_plan.h"

namespace kb {

// Returns a table of the minibatches that were opened: the best trial's values, its steps to the target, the median and
// the range of the steps over the seeds that reached it, with how many of the seeds did ("310 (290..330) 2/3"), and how
// the trials of the search ended. A value at the edge of what was tried follows "<=" or ">=": the best may lie beyond.
std::string sweep_table(const SweepPlan& plan);

std::string text_of(TrialState state);  // "reached", "hopeless", ..

// Returns the searched values of a trial: "lr 0.05, momentum 0.9".
std::string values_text(const PlannedTrial& trial);

}  // namespace kb
