// Fusion decides which values are written to memory and which nodes each launch computes (see fuse.cpp and rules.h).
#pragma once
#include <vector>

#include "compiler/schedule.h"
#include "compiler/target.h"
#include "graph/graph.h"

namespace kb {

// Returns the groups in the order in which they were opened; they depend on each other without a cycle, and the pass
// `order` sorts them. Every value that is an output, a state write or read by a library op is in some group's
// `outputs`, or is a view (compiler/views.h) of such a value, a variable or an input.
std::vector<Group> fuse(const Graph& graph, const Target& target);

}  // namespace kb
