// Questions about a launch's domain (the extents that its loops run over) and the axes of it that a reduction sums
// away.
#pragma once
#include "compiler/schedule.h"
#include "graph/graph.h"

namespace kb {

// Elements that are left where `axes`, sorted, are reduced.
int64_t kept_elements(const Dims& domain, const Ints& axes);

// Dimensions that are not 1.
int64_t proper_rank(const Dims& shape);

// Elements of a row where `axes` are the last of the domain's, but not all of them; else 0.
int64_t row_elements(const Dims& domain, const Ints& axes);

// True where a row is short enough to stay in cache between the stages of a launch.
bool rows_in_cache(const Dims& domain, const Ints& axes);

FusionClass reduction_class(const Dims& domain, const Ints& axes);

// The axes that a reduction node reduces.
Ints reduced_axes(const Node& node);

}  // namespace kb
