// Questions about a launch's domain (the extents that its loops run over) and the axes of it that are reduced.
#pragma once
#include "compiler/schedule.h"
#include "graph/graph.h"

namespace kb {

// Returns the number of elements that are left when the sorted `axes` are reduced.
int64_t kept_elements(const Dims& domain, const Ints& axes);

// Returns the number of dimensions whose extent is not 1.
int64_t proper_rank(const Dims& shape);

// Returns the number of elements of a row if `axes` are the last axes of the domain but not all of them; else 0.
int64_t row_elements(const Dims& domain, const Ints& axes);

// Returns whether `axes` make rows that are short enough to stay in cache between the stages of a launch.
bool rows_in_cache(const Dims& domain, const Ints& axes);

// Returns the class of a launch that reduces `axes`: full if they are all axes, else row or column by whether the
// innermost axis with an extent other than 1 is reduced or kept.
FusionClass reduction_class(const Dims& domain, const Ints& axes);

// Returns the axes that a reduction node reduces.
Ints reduced_axes(const Node& node);

}  // namespace kb
