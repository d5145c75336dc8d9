// The rate of fused multiply-adds that this machine's vector units reach: the limit that compute-bound steps are
// measured against.
#pragma once
#include "runtime/cpu/pool.h"

namespace kb {

// Returns the f32 operations per second of all threads of the pool together, the best of several trials. A multiply-add
// counts as two operations.
double measure_multiply_rate(Pool& pool);

}  // namespace kb
