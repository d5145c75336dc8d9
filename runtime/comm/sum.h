// The sum of two arrays, which is computed in every node of a reduction's tree.
#pragma once
#include <cstddef>

#include "graph/dtype.h"

namespace kb {

bool can_sum(DType dtype);  // true for f64, f32, bf16, f16, i32, u32

// Computes own = own + other, or other + own if `other_first` (by IEEE 754 the two differ at most in the payload of a
// NaN). bf16 and f16 are summed in f32 and rounded to nearest even.
void sum_into(DType dtype, std::byte* own, const std::byte* other, int64_t elements, bool other_first);

}  // namespace kb
