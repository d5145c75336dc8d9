// How the parts of a step run for the virtual workers of one process: which, in what order, and on which partial sums.
// Workers are added up as a binary counter counts, so every sum is over 2^level workers with consecutive numbers but
// the last: the fixed tree over workers that halving and doubling over processes goes on with.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/step_programs.h"
#include "graph/graph.h"

namespace kb {

// How many partial sums a process with so many virtual workers keeps: those of levels [0, carry_levels).
int64_t carry_levels(int64_t virtual_workers);

// The variable of one worker's own sums, and the one that holds the sum over 2^level virtual workers.
std::string leaf_name(SumGroup group);
std::string partial_name(int64_t level, SumGroup group);
// The variables of `carry`, which adds `below` and `own`.
enum class CarryVariable : uint8_t { below, own, sum };
std::string carry_name(CarryVariable variable, SumGroup group);

// The group of a worker_sum that place_all_reduce made; none for every other node.
std::optional<SumGroup> sum_group(const Node& node);

// The routines of a step whose parts stand in the order of PartRole, and whose workers leave these groups.
Routines worker_routines(const std::vector<SumGroup>& groups, int64_t virtual_workers);

}  // namespace kb
