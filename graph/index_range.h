// Bounds, known before anything runs, of the whole numbers that a tensor may hold: a gather needs no check when its
// indices lie in its table whatever the inputs are.
#pragma once
#include "graph/graph.h"

namespace kb {

struct IndexRange {
  int64_t least = 0, most = 0;  // both included
};

// A range that holds every element of an integer or boolean tensor: its dtype's own where nothing more is known.
IndexRange index_range(const Graph& graph, Value value);
// Whether every element lies in [0, rows).
bool indexes_within(const Graph& graph, Value indices, int64_t rows);

// `below` of the index_input (graph/functions.h) that the elements come from, moved and gathered but not computed; 0
// where they come from elsewhere.
int64_t declared_below(const Graph& graph, Value value);

}  // namespace kb
