// The rate of fused multiply-adds that this machine's vector units reach: the limit that compute-bound steps are
// measured against.
#pragma once
#include "runtime/cpu/pool.h"

namespace kb {

// f32 operations a second (a multiply-add counts as two), all threads of the pool together: the best of several trials.
double measure_multiply_rate(Pool& pool);

}  // namespace kb
