// Bounds of the whole numbers that a tensor can hold, known before anything runs: a gather whose indices lie in its
// table whatever the inputs are needs no check.
#pragma once
#include "graph/graph.h"

namespace kb {

struct IndexRange {
  int64_t least = 0, most = 0;  // both bounds are included
};

// Returns a range that holds every element of an integer or boolean tensor: the range of its dtype, when nothing more
// is known.
IndexRange index_range(const Graph& graph, Value value);
// Returns whether every element is known to lie in [0, rows).
bool indexes_within(const Graph& graph, Value indices, int64_t rows);

// Returns the bound `below` of the index_input (graph/functions.h) whose elements these are, moved or gathered but not
// computed with; 0 when they come from elsewhere.
int64_t declared_below(const Graph& graph, Value value);

}  // namespace kb
