// Finds the flat gradient of a training graph, as add_optimizer made it, and the sums over workers in its parts.
#pragma once
#include "graph/graph.h"

namespace kb {

Value below_reshapes(const Graph& graph, Value value);

// Returns the worker_sum from which reshapes and transpositions lead to `value` (a GPU's filters and their gradients
// have different orders); invalid if there is none.
Value sum_below(const Graph& graph, Value value);

// Returns the node of the flat gradient, the concat of parts that are summed over workers; -1 if there is none.
int32_t find_flat_gradient(const Graph& graph);

}  // namespace kb
