// The cut of one graph into the programs of a step.
#pragma once
#include "compiler/target.h"
#include "graph/graph.h"

namespace kb {

struct Cut {
  Graph prepare;  // writes the "prepared.N" variables that `final` reads
  Graph final;
};

// What depends on parameters alone and is kept in another form for the whole step (packed or transposed weights,
// low-precision copies) moves into `prepare`. Everything else, the update included, stays.
Cut cut(const Graph& graph, const Target& target);

}  // namespace kb
