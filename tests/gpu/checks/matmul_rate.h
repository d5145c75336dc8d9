// Measures the rate of a device at products of bf16 matrices, with which compute-bound library calls are compared.
#pragma once
#include <cstdint>

#include "runtime/backend.h"

namespace kb::test {

// Operations per second; a multiply-add counts as two.
struct MatmulRate {
  double best = 0, median = 0;
};

// Measures the backend's own product of two matrices, `extent` by `extent`, of random numbers: a processor that
// multiplies zeros draws less power and runs faster.
MatmulRate device_matmul_rate(Backend& backend, int64_t extent);

}  // namespace kb::test
