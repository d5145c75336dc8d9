// Weights as terms: panels [term][block of columns][row][16 columns]. Columns are the channels of the result and rows
// those of the source.
#pragma once
#include <cstddef>

#include "runtime/cpu/pool.h"
#include "runtime/library_spec.h"

namespace kb::winograd {

// Writes the terms of canonical (O, C, 3, 3) weights, G g G^T. The filters of an input gradient are turned.
void write_weight_terms(Pool& pool, const ConvSpec& spec, const float* weights, float* terms);

// Writes the gradient of canonical weights, G^T u G, in which u is the sum in order of `count` arrays of terms. They
// are `step` floats apart.
void write_weight_gradient(Pool& pool, const ConvSpec& spec, const float* terms, int64_t count, int64_t step,
                           float* gradient);

}  // namespace kb::winograd
