// Says in which order the parts of a step run for the virtual workers of one process, and on which partial sums.
// Workers are added up as a binary counter counts: every sum but the last is over 2^level workers with consecutive
// numbers. Processes continue the same fixed tree over workers by halving and doubling.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/step_programs.h"
#include "graph/graph.h"

namespace kb {

// Returns the number of partial sums that a process with so many virtual workers keeps: those of levels [0,
// carry_levels).
int64_t carry_levels(int64_t virtual_workers);

// Returns the variable of one worker's own sums; partial_name, the variable of a sum over 2^level workers.
std::string leaf_name(SumGroup group);
std::string partial_name(int64_t level, SumGroup group);
// The variables of `carry`, which adds `below` and `own` and leaves `sum`.
enum class CarryVariable : uint8_t { below, own, sum };
std::string carry_name(CarryVariable variable, SumGroup group);

// Returns the group of a worker_sum that place_all_reduce made; nothing for every other node.
std::optional<SumGroup> sum_group(const Node& node);

// Lets every second virtual worker's `micro` run beside that of the worker before it.
void run_side_by_side(Routines& routines);

// Returns the routines of a step whose parts are in the order of PartRole and whose workers leave sums for `groups`.
Routines worker_routines(const std::vector<SumGroup>& groups, int64_t virtual_workers);

}  // namespace kb
