// Computes c = a b and c += a b on row-major matrices by Eigen, in one thread and without the heap.
#pragma once
#include <cstdint>

namespace kb::eigen {

// A row-major matrix in memory, or the transpose of one.
template <class T>
struct Matrix {
  T* data;
  int64_t stride;  // elements from row to row of the matrix in memory
  bool transposed = false;
};

// c is (m, n), a is (m, k), b is (k, n), after their transposition. c is never transposed.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate);

// Called once before the first gemm. Throws when this processor lacks the instruction set of this build.
void prepare();

}  // namespace kb::eigen
