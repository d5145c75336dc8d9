// Checks of the arguments of a DSL function. Each of them throws Error (graph/report.h) that names the DSL function
// `op`, also when a tensor was never assigned.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/tensor.h"

namespace kb {

// Returns the axes in [0, rank), sorted, for axes that may count from the end; all of x's axes if `axes` is empty.
// Throws Error when one is named twice.
Ints real_axes(std::string_view op, Tensor x, Ints axes);
// Returns x's shape with extent 1 on each of `axes`.
Dims kept_shape(Tensor x, const Ints& axes);

void require_rank(std::string_view op, Tensor x, int64_t rank, const char* expected);
// Throws Error unless value, which the error calls `what`, is 1 or more.
void require_positive(std::string_view op, int64_t value, const char* what);
void require_float(std::string_view op, Tensor x);
// Returns `number` as `dtype` holds it. Throws Error when an integer or boolean dtype does not have this number.
double number_in(std::string_view op, DType dtype, double number);
// Returns the shape to which the operands broadcast. Throws Error where two extents differ and neither is 1.
Dims broadcast_shape(std::string_view op, const std::vector<Tensor>& tensors);

}  // namespace kb
