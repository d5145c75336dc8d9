// Matrices of a flat vector: the parameters of two axes or more, which a rule may look at as such
// (UpdateContext::matrices).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "compiler/passes/passes.h"

namespace kb {

// The order of the elements of a matrix: that of its segment, or row-major in the parameter's own shape. They differ
// where filters lie with their channels last (Segment::order).
enum class MatrixOrder : uint8_t { of_segment, of_shape };

// A function of the matrices of one shape, (number, rows, columns), each of which is a segment.
using SegmentMatrixFunction = std::function<Tensor(Tensor matrices, const std::vector<const Segment*>& segments)>;

// Applies `f` to the matrices of x, shape (blocks, elements of a block), whose rows are those of the segments one after
// the other, and returns the results in their places, zeros between them. Throws Error for a segment of fewer than two
// axes, and for a result of another shape.
Tensor map_matrices(const Tensor& x, std::span<const Segment> segments, int64_t block, MatrixOrder order,
                    const SegmentMatrixFunction& f);

}  // namespace kb
