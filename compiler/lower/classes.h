// One function a fusion class; `lower` chooses.
#pragma once
#include "compiler/lower/lowered.h"
#include "compiler/target.h"

namespace kb {

Lowered lower_pointwise(const Graph& graph, const Group& group, const Target& target);  // windows and copies too
Lowered lower_reduce(const Graph& graph, const Group& group, const Target& target);
Lowered lower_scatter(const Graph& graph, const Group& group, const Target& target);

// Turns extents and strides that are literals into arguments, so that layers of different sizes share one kernel. A
// division by an argument costs nothing to speak of on a CPU outside the lane loops, on a GPU outside all loops of a
// thread; inside them divisors stay literals.
void share_literals(Lowered& lowered, int64_t lanes);

}  // namespace kb
