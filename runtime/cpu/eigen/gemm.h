// c = a b and c += a b on row-major matrices, by Eigen, in one thread and without the heap.
#pragma once
#include <cstdint>

namespace kb::eigen {

// A row-major matrix in memory, or its transpose.
template <class T>
struct Matrix {
  T* data;
  int64_t stride;  // from row to row of what is in memory
  bool transposed = false;
};

// c: (m, n), a: (m, k), b: (k, n), after their transposition. c is never transposed.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate);

// Call once before the first gemm: stops where this build's instruction set is not this processor's.
void prepare();

}  // namespace kb::eigen
