// The order of launches, and which state writes happen in place.
#pragma once
#include <vector>

#include "compiler/schedule.h"
#include "graph/graph.h"

namespace kb {

struct Ordered {
  std::vector<Group> groups;  // in launch order
  // One value per write of the graph: the value whose memory is the variable's own; if it is invalid, the write is a
  // copy at the end.
  std::vector<Value> in_place;
};

// Launches stand in graph order as far as what they read allows; every reader of a variable stands before the launch
// that overwrites it.
Ordered order(const Graph& graph, std::vector<Group> groups);

}  // namespace kb
