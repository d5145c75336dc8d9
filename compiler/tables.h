// Constants of several numbers as data in memory.
#pragma once
#include "graph/graph.h"

namespace kb {

// Every constant with more than one number becomes a table variable "constant.N": kernels read it instead of spelling
// it out.
Graph constants_to_tables(const Graph& graph);

}  // namespace kb
