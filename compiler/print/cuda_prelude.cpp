// This text comes before the kernels of a program.
#include <fmt/format.h>

#include <string_view>

#include "compiler/print/cuda.h"
#include "compiler/print/cuda_tiles_prelude.h"
#include "compiler/print/cuda_warpgroups.h"
#include "compiler/print/prelude.h"

namespace kb {
namespace {

constexpr std::string_view kCudaTypes = R"(typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
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

KB_INLINE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// Begins a copy of 16 bytes from global to shared memory, past the registers and the first cache. Both addresses are
// multiples of 16. If not `there`, it writes zeros and reads nothing. Nobody may touch the 16 bytes until copies_wait.
KB_INLINE void copy_async(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
               : "memory");
}
// Makes the thread's copies since the last call a group, which may be empty.
KB_INLINE void copies_end() { asm volatile("cp.async.commit_group;" : : : "memory"); }
// Waits until all groups of the thread but its last N have arrived. Other threads see them after a barrier.
template <int N>
KB_INLINE void copies_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}
// Loads four 8x8 matrices of 16-bit elements; all lanes of the warp take part. Lane 8 * i + j gives the address of row j
// of matrix i, a multiple of 16. Lane l gets elements 2 * (l % 4) and the next of row l / 4, in r[i] those of matrix i.
KB_INLINE void load_matrices(u32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
// Loads them likewise, but a lane gets the elements of the transposed matrices.
KB_INLINE void load_matrices_transposed(u32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
// d += a * b of a 16x16 and a 16x8 matrix, by all lanes of a warp. With g = l / 4 and t = 2 * (l % 4) lane l holds
//   a[i]: the elements in row g + 8 * (i % 2) and columns t + 8 * (i / 2) and the next;
//   b[i]: the elements in rows t + 8 * i and the next and column g;
//   d[i]: the element in row g + 8 * (i / 2) and column t + i % 2.
#define KB_MULTIPLY_ADD(type) \
  KB_INLINE void multiply_add(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2], type) { \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type ".f32 " \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
KB_MULTIPLY_ADD(bf16)
KB_MULTIPLY_ADD(f16)
#undef KB_MULTIPLY_ADD
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
// Numbers of 8 bits, four a word: a shift and a mask widen one.
template <int N>
struct alignas(N) Quads {
  u32 at[N / 4];
};
template <int N>
KB_INLINE void load(u8 (&r)[N], const u8* p) {
  const Quads<N> x = *(const Quads<N>*)p;
#pragma unroll
  for (int l = 0; l < N; ++l) r[l] = (u8)(x.at[l / 4] >> l % 4 * 8);
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

std::string cuda_instructions() { return std::string(kInstructions) + warpgroup_instructions(); }

std::string cuda_prelude() {
  return fmt::format("{}{}{}{}{}", kCudaTypes, kSharedPrelude, cuda_instructions(), kFunctions, kCudaTiles);
}

}  // namespace kb
