// The rate at which this machine's vector units, or its matrix tiles, multiply and add: the limit that compute-bound
// steps are measured against.
#pragma once
#include "graph/dtype.h"
#include "runtime/cpu/pool.h"

namespace kb {

// Returns the operations per second on numbers of `dtype` of all threads of the pool together, the best of several
// trials. A multiply-add counts as two operations. Where the processor has no products of bf16 or f16, they are
// computed in f32.
double measure_multiply_rate(Pool& pool, DType dtype = DType::f32);

}  // namespace kb
