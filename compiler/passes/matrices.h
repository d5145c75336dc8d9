// Matrices of a flat vector: the parameters of two axes or more, which a rule may look at as such
// (UpdateContext::matrices).
#pragma once
#include <span>

#include "compiler/passes/passes.h"

namespace kb {

// Applies `f` to the matrices of x, shape (blocks, elements of a block), whose rows are those of the segments one after
// the other, and returns the results in their places, zeros between them. Throws Error for a segment of fewer than two
// axes, and for a result of another shape.
Tensor map_matrices(const Tensor& x, std::span<const Segment> segments, int64_t block, const MatrixFunction& f);

}  // namespace kb
