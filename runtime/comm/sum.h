// Sums of two arrays, as every node of a reduction's tree computes them.
#pragma once
#include <cstddef>

#include "graph/dtype.h"

namespace kb {

bool can_sum(DType dtype);  // f64, f32, bf16, f16, i32, u32

// own = own + other, or other + own where `other_first` (IEEE 754 sums differ in the payload of a NaN at most). bf16
// and f16 are summed in f32 and rounded to nearest even.
void sum_into(DType dtype, std::byte* own, const std::byte* other, int64_t elements, bool other_first);

}  // namespace kb
