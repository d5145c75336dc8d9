// Checks of the arguments that a DSL function got, by their types alone, and axes counted from the end. Each throws
// Error (graph/report.h) in the name of `op`.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/type.h"

namespace kb {

// 0 <= axis < rank for one that may count from the end.
int64_t real_axis(std::string_view op, const Type& x, int64_t axis);
// Sorted; none = all axes. A repeated one is an error.
Ints real_axes(std::string_view op, const Type& x, Ints axes);
// The extents that `x` keeps with 1 on `axes`.
Dims kept_shape(const Type& x, const Ints& axes);

void require_rank(std::string_view op, const Type& x, int64_t rank, const char* expected);
void require_float(std::string_view op, const Type& x);
// `number` as an element of `dtype`; an error where an integer or boolean dtype has no such number.
double number_in(std::string_view op, DType dtype, double number);
// The shape that operands take together; throws Error where two extents differ and neither is 1.
Dims broadcast_shape(std::string_view op, const std::vector<Type>& types);

}  // namespace kb
