// The text that printed kernels share.
#include <string_view>

#include "compiler/print_cuda.h"

namespace kb {
namespace {

// NaN, ties and signed zeros: see evaluate_primitive in kernel_scalar.cpp.
constexpr std::string_view kPrelude = R"(typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#define KB_INLINE static __device__ __forceinline__
struct bf16 { u16 bits; };
struct f16 { u16 bits; };

KB_INLINE u32 bits(float x) { return __float_as_uint(x); }
KB_INLINE float real(u32 x) { return __uint_as_float(x); }
KB_INLINE float maximum(float x, float y) { return x > y || x != x ? x : y; }
KB_INLINE float minimum(float x, float y) { return x < y || x != x ? x : y; }
KB_INLINE double maximum(double x, double y) { return x > y || x != x ? x : y; }
KB_INLINE double minimum(double x, double y) { return x < y || x != x ? x : y; }
KB_INLINE int maximum(int x, int y) { return x > y ? x : y; }
KB_INLINE int minimum(int x, int y) { return x < y ? x : y; }
KB_INLINE u32 maximum(u32 x, u32 y) { return x > y ? x : y; }
KB_INLINE u32 minimum(u32 x, u32 y) { return x < y ? x : y; }
KB_INLINE float absolute(float x) { return fabsf(x); }
KB_INLINE double absolute(double x) { return fabs(x); }
KB_INLINE int absolute(int x) { return x < 0 ? (int)(0u - (u32)x) : x; }
KB_INLINE u32 absolute(u32 x) { return x; }
KB_INLINE float root(float x) { return __fsqrt_rn(x); }
KB_INLINE double root(double x) { return __dsqrt_rn(x); }
KB_INLINE float round_down(float x) { return floorf(x); }
KB_INLINE double round_down(double x) { return floor(x); }
KB_INLINE float fused(float x, float y, float z) { return __fmaf_rn(x, y, z); }
KB_INLINE double fused(double x, double y, double z) { return __fma_rn(x, y, z); }
KB_INLINE u32 mul_high(u32 x, u32 y) { return __umulhi(x, y); }
KB_INLINE int mul_high(int x, int y) { return __mulhi(x, y); }
KB_INLINE int divide(int x, int y) { return y == 0 ? 0 : y == -1 ? (int)(0u - (u32)x) : x / y; }
KB_INLINE u32 divide(u32 x, u32 y) { return y == 0 ? 0 : x / y; }
KB_INLINE u32 shift_left(u32 x, u32 y) { return y < 32 ? x << y : 0; }
KB_INLINE int shift_left(int x, int y) { return y < 0 ? x : (int)shift_left((u32)x, (u32)y); }
KB_INLINE u32 shift_right(u32 x, u32 y) { return y < 32 ? x >> y : 0; }
KB_INLINE int shift_right(int x, int y) { return y < 0 ? x : x >> (y < 32 ? y : 31); }

KB_INLINE float widen(bf16 x) { return real((u32)x.bits << 16); }
KB_INLINE bf16 round_bf16(float x) {
  const u32 b = bits(x);
  return bf16{(u16)(x != x ? b >> 16 | 0x40 : (b + 0x7fff + (b >> 16 & 1)) >> 16)};
}
KB_INLINE float widen(f16 x) {
  const u32 sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00) return real(sign | 0x7f800000 | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x400000 : 0));
  if (rest >= 0x400) return real(sign | ((rest << 13) + (112u << 23)));
  return real(sign | bits((float)rest * 0x1p-24f));
}
KB_INLINE f16 round_f16(float x) {
  const u32 b = bits(x), sign = b >> 16 & 0x8000, rest = b & 0x7fffffff;
  if (rest > 0x7f800000) return f16{(u16)(sign | 0x7e00 | (rest >> 13 & 0x3ff))};
  if (rest >= 0x477ff000) return f16{(u16)(sign | 0x7c00)};
  if (rest < 0x38800000) return f16{(u16)(sign | (bits(real(rest) + 0.5f) - 0x3f000000))};
  return f16{(u16)(sign | (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13)};
}

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
template <int N, class T>
KB_INLINE void store_all(T* p, T x, int n = N) {
  T r[N];
  fill(r, x);
  store(p, r, n);
}
)";

}  // namespace

std::string cuda_prelude() { return std::string(kPrelude); }

}  // namespace kb
