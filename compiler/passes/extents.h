// Numbers of a graph that follow from shapes alone.
#pragma once
#include "graph/graph.h"

namespace kb {

// Turns every `count` of the graph into an `extent` in its place, which has no input: a count names the tensor whose
// extents it multiplies, but reads none of its elements, and a pass would have to know that. Counts of one tensor over
// the same axes get one number, all others numbers of their own, so that no pass merges two that happen to be equal: at
// another minibatch they differ.
void counts_to_extents(Graph& graph);

}  // namespace kb
