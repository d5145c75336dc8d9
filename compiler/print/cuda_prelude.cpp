// This text comes before the kernels of a program.
#include <fmt/format.h>

#include <string_view>

#include "compiler/print/cuda.h"
#include "compiler/print/prelude.h"

namespace kb {
namespace {

constexpr std::string_view kCudaTypes = R"(typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#define KB_INLINE static __device__ __forceinline__
struct bf16 { u16 bits; };
struct f16 { u16 bits; };

KB_INLINE u32 bits(float x) { return __float_as_uint(x); }
KB_INLINE float real(u32 x) { return __uint_as_float(x); }
)";

// These functions are written in PTX; they stand behind kSharedPrelude, so that what replaces them may use it.
constexpr std::string_view kInstructions = R"(
// The processor's own conversions. They make every NaN that they round 0x7fff; other processors keep its sign and upper
// bits.
KB_INLINE u16 narrow_bf16(float x) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
KB_INLINE u16 narrow_f16(float x) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
KB_INLINE float widen(f16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
// Returns c ? x : y, by instructions in which neither NVVM nor ptxas finds a maximum or minimum. For sm_90 and sm_100
// ptxas of CUDA 13.0 (V13.0.88) makes "max(min(a, b), 0) == b" one VIMNMX.RELU and takes its predicate, which says
// something else, for the equality; likewise "== a", "!=", and a maximum in place of the minimum.
KB_INLINE int choose(bool c, int x, int y) {
  int r;
  asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; selp.s32 %0, %1, %2, p; }" : "=r"(r) : "r"(x), "r"(y), "r"((int)c));
  return r;
}
)";

constexpr std::string_view kFunctions =
    R"(KB_INLINE float absolute(float x) { return fabsf(x); }
KB_INLINE double absolute(double x) { return fabs(x); }
KB_INLINE float root(float x) { return __fsqrt_rn(x); }
KB_INLINE double root(double x) { return __dsqrt_rn(x); }
KB_INLINE float round_down(float x) { return floorf(x); }
KB_INLINE double round_down(double x) { return floor(x); }
KB_INLINE float fused(float x, float y, float z) { return __fmaf_rn(x, y, z); }
KB_INLINE double fused(double x, double y, double z) { return __fma_rn(x, y, z); }
KB_INLINE u32 mul_high(u32 x, u32 y) { return __umulhi(x, y); }
KB_INLINE int mul_high(int x, int y) { return __mulhi(x, y); }

KB_INLINE float widen(bf16 x) { return real((u32)x.bits << 16); }
KB_INLINE bf16 round_bf16(float x) { return bf16{narrow_bf16(x)}; }
KB_INLINE f16 round_f16(float x) { return f16{narrow_f16(x)}; }

// N elements from an aligned place; with `n`, the first n of them (a load's others are 0).
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
  T at[N];
};
template <int N, class T>
KB_INLINE void load(T (&r)[N], const T* p) {
  const Vector<T, N> x = *(const Vector<T, N>*)p;
#pragma unroll
  for (int l = 0; l < N; ++l) r[l] = x.at[l];
}
// Numbers of 16 bits, two a word: a shift widens the one, a mask the other.
template <int N>
struct alignas(2 * N < 16 ? 2 * N : 16) Pairs {
  u32 at[N / 2];
};
template <int N, class T>
KB_INLINE void load_pairs(T (&r)[N], const T* p) {
  const Pairs<N> x = *(const Pairs<N>*)p;
#pragma unroll
  for (int l = 0; l < N; ++l) r[l].bits = (u16)(x.at[l / 2] >> l % 2 * 16);
}
template <int N>
KB_INLINE void load(bf16 (&r)[N], const bf16* p) {
  load_pairs(r, p);
}
template <int N>
KB_INLINE void load(f16 (&r)[N], const f16* p) {
  load_pairs(r, p);
}
template <int N, class T>
KB_INLINE void load(T (&r)[N], const T* p, int n) {
  if (n >= N) return load(r, p);
#pragma unroll
  for (int l = 0; l < N; ++l) r[l] = l < n ? p[l] : T();
}
template <int N, class T>
KB_INLINE void fill(T (&r)[N], T x) {
#pragma unroll
  for (int l = 0; l < N; ++l) r[l] = x;
}
template <int N, class T>
KB_INLINE void store(T* p, const T (&r)[N]) {
  Vector<T, N> x;
#pragma unroll
  for (int l = 0; l < N; ++l) x.at[l] = r[l];
  *(Vector<T, N>*)p = x;
}
template <int N, class T>
KB_INLINE void store(T* p, const T (&r)[N], int n) {
  if (n >= N) return store(p, r);
#pragma unroll
  for (int l = 0; l < N; ++l)
    if (l < n) p[l] = r[l];
}
// Returns the booleans of eight lanes as the bits of a byte, the first one the lowest.
KB_INLINE u8 packed(const bool (&r)[8]) {
  u32 byte = 0;
#pragma unroll
  for (int l = 0; l < 8; ++l) byte |= (u32)r[l] << l;
  return (u8)byte;
}
template <int N, class T>
KB_INLINE void store_all(T* p, T x, int n = N) {
  T r[N];
  fill(r, x);
  store(p, r, n);
}
)";

}  // namespace

std::string cuda_instructions() { return std::string(kInstructions); }

std::string cuda_prelude() { return fmt::format("{}{}{}{}", kCudaTypes, kSharedPrelude, kInstructions, kFunctions); }

}  // namespace kb
