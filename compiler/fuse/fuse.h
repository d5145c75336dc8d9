// Fusion: which values are written to memory, and which nodes each launch computes. See fuse.cpp for the rules.
#pragma once
#include <vector>

#include "compiler/schedule.h"
#include "compiler/target.h"
#include "graph/graph.h"

namespace kb {

// Groups in an order in which every group stands behind those it reads from. Every value that is an output, a state
// write or read by a library op is in some group's `outputs`, or is a view (compiler/views.h) of such a value, a
// variable or an input.
std::vector<Group> fuse(const Graph& graph, const Target& target);

}  // namespace kb
