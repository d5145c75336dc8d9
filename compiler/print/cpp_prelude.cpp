// This text comes before the kernels of a file. Every helper has one name for scalars and for vectors, so that the
// printer need not tell them apart.
#include <fmt/format.h>

#include <string>

#include "compiler/print/cpp.h"
#include "compiler/print/cpp_clang.h"
#include "compiler/print/prelude.h"

namespace kb {
namespace {

constexpr std::string_view kCppTypes =
    R"(#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // lanes past a tail: kept, never used
#endif
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
#ifdef __OPTIMIZE__
#define KB_INLINE static inline __attribute__((always_inline, unused))
#else  // tests' kernels, which hardly run: without copies of it in each they compile in two thirds of the time
#define KB_INLINE static inline __attribute__((unused))
#endif
KB_INLINE u32 bits(float x) { return __builtin_bit_cast(u32, x); }
KB_INLINE float real(u32 x) { return __builtin_bit_cast(float, x); }
KB_INLINE long index_min(long x, long y) { return x < y ? x : y; }
KB_INLINE long index_max(long x, long y) { return x > y ? x : y; }
)";

constexpr std::string_view kScalars =
    R"(KB_INLINE float absolute(float x) { return __builtin_fabsf(x); }
KB_INLINE double absolute(double x) { return __builtin_fabs(x); }
KB_INLINE float root(float x) { return __builtin_sqrtf(x); }
KB_INLINE double root(double x) { return __builtin_sqrt(x); }
KB_INLINE float round_down(float x) { return __builtin_floorf(x); }
KB_INLINE double round_down(double x) { return __builtin_floor(x); }
KB_INLINE float fused(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KB_INLINE double fused(double x, double y, double z) { return __builtin_fma(x, y, z); }
KB_INLINE u32 mul_high(u32 x, u32 y) { return (u32)((u64)x * y >> 32); }
KB_INLINE int mul_high(int x, int y) { return (int)((long)x * y >> 32); }
KB_INLINE float to_bf16(float x) { return real(round_high(x) & 0xffff0000); }
KB_INLINE float load_bf16(const u16* p) { return real((u32)*p << 16); }
KB_INLINE void store_bf16(u16* p, float x) { *p = (u16)(bits(x) >> 16); }
KB_INLINE float to_f16(float x) { return f16_real(f16_bits(x)); }
KB_INLINE float load_f16(const u16* p) { return f16_real(*p); }
KB_INLINE void store_f16(u16* p, float x) { *p = (u16)f16_bits(x); }
)";

// In these texts `@` stands for the number of lanes; for_lanes() puts it in. bf16, f16, u8 and booleans are held in
// lanes of 32 bits, so that all of them have one width and one type of masks, whose lanes are 0 or -1.
constexpr std::string_view kVectors = R"(
#define KB_VECTOR(type, name, bytes) \
  typedef type name __attribute__((vector_size(bytes))); \
  typedef type name##m __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias));
KB_VECTOR(float, f32x@, @ * 4)
KB_VECTOR(int, i32x@, @ * 4)
KB_VECTOR(u32, u32x@, @ * 4)
KB_VECTOR(u16, u16x@, @ * 2)
KB_VECTOR(u8, u8x@, @)
#undef KB_VECTOR
#define KB_EACH for (long l = 0; l < @; ++l)
)";
constexpr std::string_view kVectorHelpers = R"(
KB_INLINE f32x@ splat_f32x@(float x) { return f32x@{$x}; }
KB_INLINE i32x@ splat_i32x@(int x) { return i32x@{$x}; }
KB_INLINE u32x@ splat_u32x@(u32 x) { return u32x@{$x}; }
__attribute__((unused)) static const i32x@ iota_i32x@ = {$i};
KB_INLINE i32x@ first_x@(long n) { return iota_i32x@ < (int)index_min(index_max(n, 0), @); }
KB_INLINE i32x@ maximum(i32x@ x, i32x@ y) { return x > y ? x : y; }
KB_INLINE i32x@ minimum(i32x@ x, i32x@ y) { return x < y ? x : y; }
KB_INLINE u32x@ maximum(u32x@ x, u32x@ y) { return x > y ? x : y; }
KB_INLINE u32x@ minimum(u32x@ x, u32x@ y) { return x < y ? x : y; }
KB_INLINE f32x@ absolute(f32x@ x) { return (f32x@)((u32x@)x & 0x7fffffffu); }
KB_INLINE i32x@ absolute(i32x@ x) { return x < 0 ? (i32x@)(0u - (u32x@)x) : x; }
KB_INLINE u32x@ absolute(u32x@ x) { return x; }
KB_INLINE i32x@ divide(i32x@ x, i32x@ y) { i32x@ r = x; KB_EACH r[l] = divide(x[l], y[l]); return r; }
KB_INLINE u32x@ divide(u32x@ x, u32x@ y) { u32x@ r = x; KB_EACH r[l] = divide(x[l], y[l]); return r; }
KB_INLINE u32x@ shift_left(u32x@ x, u32x@ y) { return y < 32u ? x << (y & 31u) : u32x@{}; }
KB_INLINE i32x@ shift_left(i32x@ x, i32x@ y) { return y < 0 ? x : (i32x@)shift_left((u32x@)x, (u32x@)y); }
KB_INLINE u32x@ shift_right(u32x@ x, u32x@ y) { return y < 32u ? x >> (y & 31u) : u32x@{}; }
KB_INLINE i32x@ shift_right(i32x@ x, i32x@ y) { return y < 0 ? x : x >> (y < 32 ? y : 31); }
KB_INLINE u32x@ whole_u32(f32x@ x) {  // of numbers in [0, 2^32)
  return (u32x@)__builtin_convertvector(x >= 0x1p31f ? x - 0x1p32f : x, i32x@);
}
KB_INLINE u32x@ round_high(f32x@ x) {
  const u32x@ b = (u32x@)x;
  return x != x ? b | 0x400000u : b + 0x7fffu + (b >> 16 & 1u);
}
KB_INLINE f32x@ to_bf16(f32x@ x) { return (f32x@)(round_high(x) & 0xffff0000u); }
KB_INLINE f32x@ widen_bf16(u16x@ x) { return (f32x@)(widen_u16(x) << 16); }
KB_INLINE u16x@ narrow_bf16(f32x@ x) { return narrow_u16((u32x@)x >> 16); }
KB_INLINE u16x@ round_bf16(f32x@ x) { return narrow_u16(round_high(x) >> 16); }
KB_INLINE i32x@ widen_bool(u8x@ x) { return (i32x@)widen_u8(x) != 0; }
KB_INLINE u8x@ narrow_bool(i32x@ x) { return narrow_u8((u32x@)x & 1u); }
)";

constexpr std::string_view kWideVectors = R"(
typedef double f64x@ __attribute__((vector_size(@ * 8)));
typedef double f64x@m __attribute__((vector_size(@ * 8), aligned(8), may_alias));
typedef long i64x@ __attribute__((vector_size(@ * 8)));
KB_INLINE f64x@ splat_f64x@(double x) { return f64x@{$x}; }
KB_INLINE i64x@ splat_i64x@(long x) { return i64x@{$x}; }
__attribute__((unused)) static const i64x@ iota_i64x@ = {$i};
KB_INLINE i32x@ narrow(i64x@ x) { return __builtin_convertvector(x, i32x@); }
KB_INLINE i64x@ wide(i32x@ x) { return __builtin_convertvector(x, i64x@); }
KB_INLINE u32x@ whole_u32(f64x@ x) {  // less 2^31 and not 2^32: a fraction is cut off towards zero
  const i64x@ high = x >= 0x1p31;
  return (u32x@)__builtin_convertvector(high ? x - 0x1p31 : x, i32x@) ^ (u32x@)narrow(high) << 31;
}
KB_INLINE i64x@ index_min(i64x@ x, i64x@ y) { return x < y ? x : y; }
KB_INLINE i64x@ index_max(i64x@ x, i64x@ y) { return x > y ? x : y; }
KB_INLINE f64x@ absolute(f64x@ x) { return (f64x@)((i64x@)x & 0x7fffffffffffffffl); }
)";

// On processors with mask registers, g++ 12 merges the load of 8 bytes, their widening and a choice of lanes into one
// instruction, for which it then finds no registers: "internal compiler error: unable to generate reloads".
constexpr std::string_view kInRegister = R"(__asm__("" : "+v"(x)))";

// g++ 12 compiles __builtin_convertvector between these widths in two halves where the processor has one instruction
// for it, so kWidths16 and kWidths8 name that instruction.
constexpr std::string_view kWidths = R"(
KB_INLINE u32x@ widen_u16(u16x@ x) { return __builtin_convertvector(x, u32x@); }
KB_INLINE u16x@ narrow_u16(u32x@ x) { return __builtin_convertvector(x, u16x@); }
KB_INLINE u32x@ widen_u8(u8x@ x) { return __builtin_convertvector(x, u32x@); }
KB_INLINE u8x@ narrow_u8(u32x@ x) { return __builtin_convertvector(x, u8x@); }
)";
constexpr std::string_view kWidths16 = R"(
typedef short v16h __attribute__((vector_size(32)));
typedef char v16b __attribute__((vector_size(16)));
KB_INLINE u32x16 widen_u16(u16x16 x) { return (u32x16)__builtin_ia32_pmovzxwd512_mask((v16h)x, i32x16{}, (u16)-1); }
KB_INLINE u16x16 narrow_u16(u32x16 x) { return (u16x16)__builtin_ia32_pmovdw512_mask((i32x16)x, v16h{}, (u16)-1); }
KB_INLINE u32x16 widen_u8(u8x16 x) { return (u32x16)__builtin_ia32_pmovzxbd512_mask((v16b)x, i32x16{}, (u16)-1); }
KB_INLINE u8x16 narrow_u8(u32x16 x) { return (u8x16)__builtin_ia32_pmovdb512_mask((i32x16)x, v16b{}, (u16)-1); }
)";
constexpr std::string_view kWidths8 = R"(
typedef short v8h __attribute__((vector_size(16)));
typedef char v16b __attribute__((vector_size(16)));
typedef long long v2q __attribute__((vector_size(16)));
KB_INLINE u32x8 widen_u16(u16x8 x) { return (u32x8)__builtin_ia32_pmovzxwd256((v8h)x); }
KB_INLINE u16x8 narrow_u16(u32x8 x) { return __builtin_convertvector(x, u16x8); }
KB_INLINE u32x8 widen_u8(u8x8 x) {
  v2q half = {__builtin_bit_cast(long long, x), 0};
  KB_IN_REGISTER(half);
  return (u32x8)__builtin_ia32_pmovzxbd256((v16b)half);
}
KB_INLINE u8x8 narrow_u8(u32x8 x) { return __builtin_convertvector(x, u8x8); }
)";

// Fallbacks for instruction sets that have no vector form of these functions; most compute lane by lane.
constexpr std::string_view kFusedByLane = R"(
KB_INLINE %x@ fused(%x@ x, %x@ y, %x@ z) { %x@ r = x; KB_EACH r[l] = fused(x[l], y[l], z[l]); return r; }
)";
constexpr std::string_view kExtremes = R"(
KB_INLINE %x@ maximum(%x@ x, %x@ y) { return ((x > y) | (x != x)) ? x : y; }
KB_INLINE %x@ minimum(%x@ x, %x@ y) { return ((x < y) | (x != x)) ? x : y; }
)";
constexpr std::string_view kRootByLane = R"(
KB_INLINE %x@ root(%x@ x) { %x@ r = x; KB_EACH r[l] = root(x[l]); return r; }
KB_INLINE %x@ round_down(%x@ x) { %x@ r = x; KB_EACH r[l] = round_down(x[l]); return r; }
)";
constexpr std::string_view kMulHighByLane = R"(
KB_INLINE u32x@ mul_high(u32x@ x, u32x@ y) { u32x@ r = x; KB_EACH r[l] = mul_high(x[l], y[l]); return r; }
)";
constexpr std::string_view kSignedMulHigh = R"(
KB_INLINE i32x@ mul_high(i32x@ x, i32x@ y) {
  const u32x@ r = mul_high((u32x@)x, (u32x@)y);
  return (i32x@)(r - ((u32x@)(x >> 31) & (u32x@)y) - ((u32x@)(y >> 31) & (u32x@)x));
}
)";
constexpr std::string_view kF16ByLane = R"(
KB_INLINE f32x@ widen_f16(u16x@ x) { f32x@ r = {}; KB_EACH r[l] = f16_real(x[l]); return r; }
KB_INLINE u16x@ narrow_f16(f32x@ x) { u16x@ r = {}; KB_EACH r[l] = (u16)f16_bits(x[l]); return r; }
)";
constexpr std::string_view kToF16 = R"(
KB_INLINE u16x@ round_f16(f32x@ x) { return narrow_f16(x); }
KB_INLINE f32x@ to_f16(f32x@ x) { return widen_f16(narrow_f16(x)); }
)";

// These helpers move a tail, which is the first n lanes of a vector, 0 < n <= @. The other lanes of a load are 0.
constexpr std::string_view kPartByLane = R"(
KB_INLINE %x@ first_of_x@(const $e* p, long n) { %x@ r = {}; for (long l = 0; l < n; ++l) r[l] = p[l]; return r; }
KB_INLINE %x@ load_part_x@(const $e* p, long n) { return n < @ ? first_of_x@(p, n) : (%x@)*(const %x@m*)p; }
KB_INLINE void store_part($e* p, %x@ x, long n) { if (n < @) for (long l = 0; l < n; ++l) p[l] = x[l]; else *(%x@m*)p = x; }
)";
// This load gives 0 in the lanes where the mask is 0, and does not touch their memory.
constexpr std::string_view kWhereByLane = R"(
KB_INLINE f32x@ load_where(const float* p, i32x@ where) { f32x@ r = {}; KB_EACH if (where[l]) r[l] = p[l]; return r; }
)";

// AVX-512 has vectors of 64 bytes, which are 16 lanes of 32 bits or 8 lanes of 64 bits.
constexpr std::string_view kAvx512x16 = R"(
typedef long long v8q __attribute__((vector_size(64)));
KB_INLINE f32x16 fused(f32x16 x, f32x16 y, f32x16 z) {
  return __builtin_ia32_vfmaddps512_mask(x, y, z, (u16)-1, 4);
}
KB_INLINE f32x16 root(f32x16 x) { return __builtin_ia32_sqrtps512_mask(x, x, (u16)-1, 4); }
KB_INLINE f32x16 round_down(f32x16 x) { return __builtin_ia32_rndscaleps_mask(x, 9, x, (u16)-1, 4); }
// maxps and minps give y where either is NaN.
KB_INLINE f32x16 maximum(f32x16 x, f32x16 y) {
  const f32x16 t = __builtin_ia32_maxps512_mask(x, y, y, (u16)-1, 4);
  return x != x ? x : t;
}
KB_INLINE f32x16 minimum(f32x16 x, f32x16 y) {
  const f32x16 t = __builtin_ia32_minps512_mask(x, y, y, (u16)-1, 4);
  return x != x ? x : t;
}
KB_INLINE u32x16 mul_high(u32x16 x, u32x16 y) {
  const v8q even = __builtin_ia32_pmuludq512_mask((i32x16)x, (i32x16)y, v8q{}, (u8)-1);
  const v8q odd = __builtin_ia32_pmuludq512_mask((i32x16)((v8q)x >> 32), (i32x16)((v8q)y >> 32), v8q{}, (u8)-1);
  const u32x16 mask = {0, ~0u, 0, ~0u, 0, ~0u, 0, ~0u, 0, ~0u, 0, ~0u, 0, ~0u, 0, ~0u};
  return ((u32x16)odd & mask) | ((u32x16)(even >> 32) & ~mask);
}
KB_INLINE f32x16 widen_f16(u16x16 x) { return __builtin_ia32_vcvtph2ps512_mask((v16h)x, f32x16{}, (u16)-1, 4); }
KB_INLINE u16x16 narrow_f16(f32x16 x) { return (u16x16)__builtin_ia32_vcvtps2ph512_mask(x, 0, v16h{}, (u16)-1); }
KB_INLINE u16 mask_x16(long n) { return (u16)((1u << n) - 1); }
KB_INLINE f32x16 load_part_x16(const float* p, long n) {
  return __builtin_ia32_loadups512_mask(p, f32x16{}, mask_x16(n));
}
KB_INLINE f32x16 load_where(const float* p, i32x16 where) {
  return __builtin_ia32_loadups512_mask(p, f32x16{}, __builtin_ia32_ptestmd512(where, where, (u16)-1));
}
KB_INLINE void store_part(float* p, f32x16 x, long n) { __builtin_ia32_storeups512_mask(p, x, mask_x16(n)); }
KB_INLINE i32x16 load_part_x16(const int* p, long n) { return __builtin_ia32_loaddqusi512_mask(p, i32x16{}, mask_x16(n)); }
KB_INLINE void store_part(int* p, i32x16 x, long n) { __builtin_ia32_storedqusi512_mask(p, x, mask_x16(n)); }
KB_INLINE u32x16 load_part_x16(const u32* p, long n) { return (u32x16)load_part_x16((const int*)p, n); }
KB_INLINE void store_part(u32* p, u32x16 x, long n) { store_part((int*)p, (i32x16)x, n); }
KB_INLINE u16x16 load_part_x16(const u16* p, long n) {
  return (u16x16)__builtin_ia32_loaddquhi256_mask((const short*)p, v16h{}, mask_x16(n));
}
KB_INLINE void store_part(u16* p, u16x16 x, long n) {
  __builtin_ia32_storedquhi256_mask((short*)p, (v16h)x, mask_x16(n));
}
)";
constexpr std::string_view kAvx512x8 = R"(
KB_INLINE f64x8 fused(f64x8 x, f64x8 y, f64x8 z) { return __builtin_ia32_vfmaddpd512_mask(x, y, z, (u8)-1, 4); }
KB_INLINE f64x8 root(f64x8 x) { return __builtin_ia32_sqrtpd512_mask(x, x, (u8)-1, 4); }
KB_INLINE f64x8 maximum(f64x8 x, f64x8 y) {
  const f64x8 t = __builtin_ia32_maxpd512_mask(x, y, y, (u8)-1, 4);
  return x != x ? x : t;
}
KB_INLINE f64x8 minimum(f64x8 x, f64x8 y) {
  const f64x8 t = __builtin_ia32_minpd512_mask(x, y, y, (u8)-1, 4);
  return x != x ? x : t;
}
KB_INLINE f64x8 round_down(f64x8 x) { return __builtin_ia32_rndscalepd_mask(x, 9, x, (u8)-1, 4); }
)";
// AVX2 has vectors of 32 bytes. A kernel for AVX-512 whose f64 vectors have 8 lanes holds its 32-bit values in them
// too.
constexpr std::string_view kAvx2x8 = R"(
typedef long long v4q __attribute__((vector_size(32)));
KB_INLINE f32x8 fused(f32x8 x, f32x8 y, f32x8 z) { return __builtin_ia32_vfmaddps256(x, y, z); }
KB_INLINE f32x8 root(f32x8 x) { return __builtin_ia32_sqrtps256(x); }
KB_INLINE f32x8 round_down(f32x8 x) { return __builtin_ia32_roundps256(x, 9); }
KB_INLINE f32x8 maximum(f32x8 x, f32x8 y) {
  const f32x8 t = __builtin_ia32_maxps256(x, y);
  return x != x ? x : t;
}
KB_INLINE f32x8 minimum(f32x8 x, f32x8 y) {
  const f32x8 t = __builtin_ia32_minps256(x, y);
  return x != x ? x : t;
}
KB_INLINE u32x8 mul_high(u32x8 x, u32x8 y) {
  const v4q even = __builtin_ia32_pmuludq256((i32x8)x, (i32x8)y);
  const v4q odd = __builtin_ia32_pmuludq256((i32x8)((v4q)x >> 32), (i32x8)((v4q)y >> 32));
  const u32x8 mask = {0, ~0u, 0, ~0u, 0, ~0u, 0, ~0u};
  return ((u32x8)odd & mask) | ((u32x8)(even >> 32) & ~mask);
}
KB_INLINE f32x8 widen_f16(u16x8 x) { return __builtin_ia32_vcvtph2ps256((v8h)x); }
KB_INLINE u16x8 narrow_f16(f32x8 x) { return (u16x8)__builtin_ia32_vcvtps2ph256(x, 0); }
KB_INLINE f32x8 load_part_x8(const float* p, long n) { return __builtin_ia32_maskloadps256((const f32x8m*)p, first_x8(n)); }
KB_INLINE f32x8 load_where(const float* p, i32x8 where) { return __builtin_ia32_maskloadps256((const f32x8m*)p, where); }
KB_INLINE void store_part(float* p, f32x8 x, long n) { __builtin_ia32_maskstoreps256((f32x8m*)p, first_x8(n), x); }
KB_INLINE i32x8 load_part_x8(const int* p, long n) { return (i32x8)load_part_x8((const float*)p, n); }
KB_INLINE void store_part(int* p, i32x8 x, long n) { store_part((float*)p, (f32x8)x, n); }
KB_INLINE u32x8 load_part_x8(const u32* p, long n) { return (u32x8)load_part_x8((const float*)p, n); }
KB_INLINE void store_part(u32* p, u32x8 x, long n) { store_part((float*)p, (f32x8)x, n); }
)";
constexpr std::string_view kAvx2x4 = R"(
KB_INLINE f64x4 fused(f64x4 x, f64x4 y, f64x4 z) { return __builtin_ia32_vfmaddpd256(x, y, z); }
KB_INLINE f64x4 root(f64x4 x) { return __builtin_ia32_sqrtpd256(x); }
KB_INLINE f64x4 maximum(f64x4 x, f64x4 y) {
  const f64x4 t = __builtin_ia32_maxpd256(x, y);
  return x != x ? x : t;
}
KB_INLINE f64x4 minimum(f64x4 x, f64x4 y) {
  const f64x4 t = __builtin_ia32_minpd256(x, y);
  return x != x ? x : t;
}
KB_INLINE f64x4 round_down(f64x4 x) { return __builtin_ia32_roundpd256(x, 9); }
)";

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Puts the stem of a vector type ("f32") for `%` and the C++ type of its elements in memory ("float") for `$e`.
std::string of_type(std::string_view text, std::string_view stem, std::string_view element) {
  return replace_all(replace_all(std::string(text), "%", stem), "$e", element);
}

std::string for_lanes(const std::string& text, int lanes) {
  std::string iota, same;
  for (int i = 0; i < lanes; ++i) {
    iota += fmt::format("{}{}", i ? ", " : "", i);
    same += i ? ", x" : "x";
  }
  return replace_all(replace_all(replace_all(text, "$i", iota), "$x", same), "@", std::to_string(lanes));
}

std::string parts_by_lane(std::initializer_list<std::pair<std::string_view, std::string_view>> types) {
  std::string text;
  for (const auto& [stem, element] : types) text += of_type(kPartByLane, stem, element);
  return text;
}

std::string vectors(int vector_bytes, bool wide) {
  const int lanes = vector_bytes / (wide ? 8 : 4);
  std::string text(kVectors);
  text += fmt::format("#define KB_IN_REGISTER(x) {}\n", vector_bytes == 64 ? kInRegister : "((void)0)");
  text += lanes == 16 ? kWidths16 : lanes == 8 ? kWidths8 : kWidths;
  text += kVectorHelpers;
  if (wide) text += kWideVectors;
  const bool full = vector_bytes == 64 && !wide;
  if (full) {
    text += kAvx512x16;
    text += parts_by_lane({{"u8", "u8"}});
  } else if (lanes == 8) {
    text += kAvx2x8;
    text += parts_by_lane({{"u16", "u16"}, {"u8", "u8"}});
  } else {
    for (const std::string_view part : {kExtremes, kFusedByLane, kRootByLane}) text += of_type(part, "f32", "float");
    text += kMulHighByLane;
    text += kWhereByLane;
    text += kF16ByLane;
    text += parts_by_lane({{"f32", "float"}, {"i32", "int"}, {"u32", "u32"}, {"u16", "u16"}, {"u8", "u8"}});
  }
  text += kSignedMulHigh;
  text += kToF16;
  if (wide) {
    text += parts_by_lane({{"f64", "double"}});
    if (vector_bytes == 64) text += kAvx512x8;
    if (vector_bytes == 32) text += kAvx2x4;
    if (vector_bytes == 16)
      for (const std::string_view part : {kExtremes, kFusedByLane, kRootByLane}) text += of_type(part, "f64", "double");
  }
  return for_lanes(text + "#undef KB_EACH\n#undef KB_IN_REGISTER\n", lanes);
}

// Prints the functions stream(), which store a vector past the cache where its address is a multiple of the store's
// size in bytes, as in an array that is stored as a whole; elsewhere they store it as usual.
std::string streams(int vector_bytes) {
  std::string text;
  const auto add = [&](std::string_view type, std::string_view element, int bytes, std::string_view cast) {
    const std::string_view builtin = bytes == 64   ? "__builtin_ia32_movntps512"
                                     : bytes == 32 ? "__builtin_ia32_movntps256"
                                                   : "__builtin_ia32_movntps";
    text += fmt::format(
        "KB_INLINE void stream({1}* p, {0} x, bool past_cache) {{\n"
        "  if (past_cache & (((u64)p & {2}) == 0))\n    {3}((float*)p, ({4})x);\n  else\n    *({0}m*)p = x;\n}}\n",
        type, element, bytes - 1, builtin, cast);
  };
  if (vector_bytes == 64) {
    for (const auto& [type, element] : {std::pair{"f32x16", "float"}, {"i32x16", "int"}, {"u32x16", "u32"}})
      add(type, element, 64, "f32x16");
    add("f64x8", "double", 64, "f32x16");
    add("u16x16", "u16", 32, "f32x8");
    add("u8x16", "u8", 16, "kb_v4");
  }
  if (vector_bytes >= 32) {
    for (const auto& [type, element] : {std::pair{"f32x8", "float"}, {"i32x8", "int"}, {"u32x8", "u32"}})
      add(type, element, 32, "f32x8");
    if (vector_bytes == 32) add("f64x4", "double", 32, "f32x8");
    if (vector_bytes == 32)
      for (const auto& [type, element] : {std::pair{"f32x4", "float"}, {"i32x4", "int"}, {"u32x4", "u32"}})
        add(type, element, 16, "kb_v4");
    add("u16x8", "u16", 16, "kb_v4");
  }
  return text;
}

}  // namespace

int vector_bytes(std::string_view isa) { return isa == "avx512" ? 64 : isa == "avx2" ? 32 : 16; }

std::string cpp_prelude(int vector_bytes) {
  std::string text = fmt::format("{}{}{}{}", kCppTypes, kClangBuiltins, kSharedPrelude, kScalars);
  text += vectors(vector_bytes, false);
  text += vectors(vector_bytes, true);
  text += "typedef float kb_v4 __attribute__((vector_size(16)));\n";
  text += streams(vector_bytes);
  text += vector_bytes > 16 ? "#define KB_FENCE() __builtin_ia32_sfence()\n" : "#define KB_FENCE() ((void)0)\n";
  return text;
}

}  // namespace kb
