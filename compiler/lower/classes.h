// The functions that lower the fusion classes; compiler/lower/lower.cpp chooses among them.
#pragma once
#include "compiler/lower/lowered.h"
#include "compiler/target.h"

namespace kb {

Lowered lower_pointwise(const Graph& graph, const Group& group, const Target& target);  // also windows, copies, carries
Lowered lower_product(const Graph& graph, const Group& group, const Target& target);    // point-wise behind a product
Lowered lower_product_weights(const Graph& graph, const Group& group, const Target& target);
Lowered lower_reduce(const Graph& graph, const Group& group, const Target& target);
Lowered lower_order(const Graph& graph, const Group& group, const Target& target);
Lowered lower_scatter(const Graph& graph, const Group& group, const Target& target);

// Turns extents and strides that are literals into arguments, so that layers of different sizes, and buckets of
// different lengths, share one kernel. On a GPU those of at most 8 stay, so that its compiler unrolls short loops.
// Divisors stay literals where a division by an argument would be slow: on a CPU inside lane loops, on a GPU inside any
// loop of a thread.
void share_literals(Lowered& lowered, int64_t lanes);

}  // namespace kb
