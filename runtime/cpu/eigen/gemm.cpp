#include "runtime/cpu/eigen/gemm.h"

#include <algorithm>

#include "graph/error.h"
// Eigen packs its operands on the stack up to this size. prepare() sets cache sizes with which that is enough for up to
// kMostColumns columns, and forbids Eigen the heap.
#define EIGEN_STACK_ALLOCATION_LIMIT (3 << 20)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_RUNTIME_NO_MALLOC
#define eigen_assert(holds) kb::ensure((holds), "Eigen: " #holds)
// These settings and this file's instruction set must not reach other users of Eigen, whose functions the linker would
// take for the same ones: the namespace gets a name of its own.
#define Eigen eigen_of_gemm
#include <Eigen/Core>

#include "runtime/cpu/library_parts.h"

namespace kb::eigen {

namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
using View = Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>>;

template <class T>
View<T> view(Matrix<const T> matrix, int64_t rows, int64_t columns) {
  return matrix.transposed ? View<T>(matrix.data, columns, rows, Eigen::OuterStride<>(matrix.stride))
                           : View<T>(matrix.data, rows, columns, Eigen::OuterStride<>(matrix.stride));
}

constexpr int64_t kMostColumns = 512;  // columns of a product, which Eigen may pack all at once

template <class A, class B, class C>
void multiply(const A& a, const B& b, C& c, bool accumulate) {
  if (!accumulate) c.setZero();
  c.noalias() += a * b;
}

template <class T>
void gemm_part(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate) {
  const View<T> left = view(a, m, k), right = view(b, k, n);
  Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>> result(c.data, m, n, Eigen::OuterStride<>(c.stride));
  if (a.transposed && b.transposed) return multiply(left.transpose(), right.transpose(), result, accumulate);
  if (a.transposed) return multiply(left.transpose(), right, result, accumulate);
  if (b.transposed) return multiply(left, right.transpose(), result, accumulate);
  multiply(left, right, result, accumulate);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool accumulate) {
  for (int64_t at = 0; at < n; at += kMostColumns) {
    const Matrix<const T> right{b.data + at * (b.transposed ? b.stride : 1), b.stride, b.transposed};
    gemm_part(m, std::min(n - at, kMostColumns), k, a, right, {c.data + at, c.stride, false}, accumulate);
  }
}

#ifdef KB_EIGEN_F32
template void gemm(int64_t, int64_t, int64_t, Matrix<const float>, Matrix<const float>, Matrix<float>, bool);
#endif
template void gemm(int64_t, int64_t, int64_t, Matrix<const double>, Matrix<const double>, Matrix<double>, bool);

void prepare() {
#ifdef KB_EIGEN_LEVEL
  if (!__builtin_cpu_supports(KB_EIGEN_LEVEL))
    throw Error("this build of Kilobatch is for " KB_EIGEN_LEVEL
                " processors and this is none: configure and build it here");
#endif
  // Eigen keeps both in variables that every product reads: they are set once, and not while another session computes.
  [[maybe_unused]] static const bool is_set = [] {
    // The packed operands are (columns, kc) and (kc, nc); Eigen derives kc and nc from these sizes.
    Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 1 << 20);
    Eigen::internal::set_is_malloc_allowed(false);
    return true;
  }();
}

std::string name() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace kb::eigen
