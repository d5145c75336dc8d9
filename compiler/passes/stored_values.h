// Says which values of a graph are in memory between launches: the pass precision stores them in 16 bits.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace kb {

// Returns 1 for each point-wise node whose result is stored: a library or window op takes it, or it is read in launches
// between which another op has to run, and computing it again would cost more than reading it.
std::vector<uint8_t> stored_values(const Graph& graph);

}  // namespace kb
