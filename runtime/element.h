// Elements in memory and their conversion to float, inline for loops over whole tensors. graph/dtype.h has the same
// roundings for one element at a time.
#pragma once
#include <bit>
#include <cstdint>

namespace kb {

struct F32 {
  float bits;
  float load() const { return bits; }
  void store(float value) { bits = value; }
};

struct Bf16 {
  uint16_t bits;
  float load() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  // Rounds to nearest even; a NaN stays a quiet NaN.
  void store(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    const bool nan = (word & 0x7fffffff) > 0x7f800000;
    bits = static_cast<uint16_t>(nan ? (word >> 16) | 0x40 : rounded);
  }
};

#if defined(__aarch64__)
using Half = __fp16;  // g++ 12 has _Float16 for x86 alone
#else
using Half = _Float16;
#endif

struct F16 {
  Half bits;
  float load() const { return static_cast<float>(bits); }
  void store(float value) { bits = static_cast<Half>(value); }
};

}  // namespace kb
