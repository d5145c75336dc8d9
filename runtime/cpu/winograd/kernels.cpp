#include "runtime/cpu/winograd/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kb::winograd {

#if defined(__x86_64__)

namespace avx512 {
namespace {

#define KB_TARGET [[gnu::target("avx512f")]]
#define KB_INLINE KB_TARGET [[gnu::always_inline]] inline
using Vector = __m512;
constexpr int64_t kLanes = 16;
constexpr int kMostRows = kRows, kMostBlocks = 2;
KB_INLINE Vector load(const float* from) { return _mm512_loadu_ps(from); }
KB_INLINE void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
KB_INLINE Vector broadcast(float value) { return _mm512_set1_ps(value); }
KB_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) { return _mm512_fmadd_ps(a, b, sum); }
#undef KB_INLINE
#include "runtime/cpu/winograd/kernels.inc"
#undef KB_TARGET

}  // namespace
}  // namespace avx512

namespace avx2 {
namespace {

#define KB_TARGET [[gnu::target("avx2,fma")]]
#define KB_INLINE KB_TARGET [[gnu::always_inline]] inline
using Vector = __m256;
constexpr int64_t kLanes = 8;
constexpr int kMostRows = 6, kMostBlocks = 1;
KB_INLINE Vector load(const float* from) { return _mm256_loadu_ps(from); }
KB_INLINE void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
KB_INLINE Vector broadcast(float value) { return _mm256_set1_ps(value); }
KB_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
#undef KB_INLINE
#include "runtime/cpu/winograd/kernels.inc"
#undef KB_TARGET

}  // namespace
}  // namespace avx2

#endif

const std::vector<Kernels>& kernels() {
  static const std::vector<Kernels> all = [] {
    std::vector<Kernels> able;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
      able.push_back(avx512::make_kernels("avx512", std::make_integer_sequence<int, kRows>()));
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      able.push_back(avx2::make_kernels("avx2", std::make_integer_sequence<int, kRows>()));
#endif
    return able;
  }();
  return all;
}

const Kernels* kernels_of(std::string_view isa) {
  for (const Kernels& each : kernels())
    if (each.isa == isa) return &each;
  return nullptr;
}

}  // namespace kb::winograd
