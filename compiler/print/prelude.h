// This text is part of the preludes of both printed C++ and printed CUDA C++, so that they round to the same bits on
// every processor. It needs u32, KB_INLINE, and the functions bits and real, which turn a float into its bits and back.
#pragma once
#include <string_view>

namespace kb {

// evaluate_primitive() in compiler/kernel/scalar.cpp defines the results for NaN, ties and signed zeros.
inline constexpr std::string_view kSharedPrelude =
    R"(KB_INLINE float maximum(float x, float y) { return x > y || x != x ? x : y; }
KB_INLINE float minimum(float x, float y) { return x < y || x != x ? x : y; }
KB_INLINE double maximum(double x, double y) { return x > y || x != x ? x : y; }
KB_INLINE double minimum(double x, double y) { return x < y || x != x ? x : y; }
KB_INLINE int maximum(int x, int y) { return x > y ? x : y; }
KB_INLINE int minimum(int x, int y) { return x < y ? x : y; }
KB_INLINE u32 maximum(u32 x, u32 y) { return x > y ? x : y; }
KB_INLINE u32 minimum(u32 x, u32 y) { return x < y ? x : y; }
KB_INLINE int absolute(int x) { return x < 0 ? (int)(0u - (u32)x) : x; }
KB_INLINE u32 absolute(u32 x) { return x; }
KB_INLINE int divide(int x, int y) { return y == 0 ? 0 : y == -1 ? (int)(0u - (u32)x) : x / y; }
KB_INLINE u32 divide(u32 x, u32 y) { return y == 0 ? 0 : x / y; }
KB_INLINE u32 shift_left(u32 x, u32 y) { return y < 32 ? x << y : 0; }
KB_INLINE int shift_left(int x, int y) { return y < 0 ? x : (int)shift_left((u32)x, (u32)y); }
KB_INLINE u32 shift_right(u32 x, u32 y) { return y < 32 ? x >> y : 0; }
KB_INLINE int shift_right(int x, int y) { return y < 0 ? x : x >> (y < 32 ? y : 31); }
KB_INLINE u32 round_high(float x) {  // to nearest even in the upper half of the bits; the lower one holds anything
  const u32 b = bits(x);
  return x != x ? b | 0x400000 : b + 0x7fff + (b >> 16 & 1);
}
KB_INLINE float f16_real(u32 h) {
  const u32 sign = (h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return real(sign | 0x7f800000 | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x400000 : 0));
  if (rest >= 0x400) return real(sign | ((rest << 13) + (112u << 23)));
  return real(sign | bits((float)rest * 0x1p-24f));
}
KB_INLINE u32 f16_bits(float x) {
  const u32 b = bits(x), sign = b >> 16 & 0x8000, rest = b & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00 | (rest >> 13 & 0x3ff);
  if (rest >= 0x477ff000) return sign | 0x7c00;
  if (rest < 0x38800000) return sign | (bits(real(rest) + 0.5f) - 0x3f000000);
  return sign | (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
}
)";

}  // namespace kb
