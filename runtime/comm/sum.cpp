#include "runtime/comm/sum.h"

#include "graph/error.h"
#include "runtime/element.h"

namespace kb {
namespace {

template <class T>
struct Plain {
  T bits;
  T load() const { return bits; }
  void store(T value) { bits = value; }
};

// f16 as in graph/dtype.h, without branches and calls, so that loops over it are vectorised for any processor.
struct VectorF16 {
  uint16_t bits;

  float load() const {
    const uint32_t magnitude = bits & 0x7fffu;
    // This is exact: 2^112 changes the exponent's bias from f16's to f32's, also for subnormal numbers.
    const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    const uint32_t value = magnitude >= 0x7c00u ? (magnitude << 13) | 0x7f800000u : scaled;
    return std::bit_cast<float>(value | static_cast<uint32_t>(bits & 0x8000u) << 16);
  }

  void store(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = word & 0x7fffffffu;
    // Below 2^-14 lie f16's subnormals: adding 0.5 leaves them, rounded to even, in the low bits of the sum.
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result;  // f16 ends at 65504: 65520 and above round to infinity
    result = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : result;
    bits = static_cast<uint16_t>(result | ((word >> 16) & 0x8000u));
  }
};

// This and the functions that it calls are inlined, so that they are compiled for the caller's instruction set.
template <class Element>
[[gnu::always_inline]] inline void sum(std::byte* own, const std::byte* other, int64_t elements, bool other_first) {
  auto* into = reinterpret_cast<Element*>(own);
  const auto* from = reinterpret_cast<const Element*>(other);
  if (other_first) {
    for (int64_t i = 0; i < elements; ++i) into[i].store(from[i].load() + into[i].load());
  } else {
    for (int64_t i = 0; i < elements; ++i) into[i].store(into[i].load() + from[i].load());
  }
}

[[gnu::always_inline]] inline void sum_any(DType dtype, std::byte* own, const std::byte* other, int64_t elements,
                                           bool other_first) {
  switch (dtype) {
    case DType::f64:
      return sum<Plain<double>>(own, other, elements, other_first);
    case DType::f32:
      return sum<Plain<float>>(own, other, elements, other_first);
    case DType::bf16:
      return sum<Bf16>(own, other, elements, other_first);
    case DType::f16:
      return sum<VectorF16>(own, other, elements, other_first);
    case DType::i32:
    case DType::u32:
      return sum<Plain<uint32_t>>(own, other, elements, other_first);
    default:
      throw InternalError("sum_into: no sum of this dtype");
  }
}

#if defined(__x86_64__)
// One function for each level of x86-64. They compute the same sums in longer vectors.
__attribute__((target("arch=x86-64-v4"))) void sum_v4(DType dtype, std::byte* own, const std::byte* other,
                                                      int64_t elements, bool other_first) {
  sum_any(dtype, own, other, elements, other_first);
}
__attribute__((target("arch=x86-64-v3"))) void sum_v3(DType dtype, std::byte* own, const std::byte* other,
                                                      int64_t elements, bool other_first) {
  sum_any(dtype, own, other, elements, other_first);
}

// The level is tested by its features, because clang 16 does not know levels here.
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

bool can_sum(DType dtype) { return is_float(dtype) || dtype == DType::i32 || dtype == DType::u32; }

void sum_into(DType dtype, std::byte* own, const std::byte* other, int64_t elements, bool other_first) {
#if defined(__x86_64__)
  if (has_v4()) return sum_v4(dtype, own, other, elements, other_first);
  if (has_v3()) return sum_v3(dtype, own, other, elements, other_first);
#endif
  sum_any(dtype, own, other, elements, other_first);
}

}  // namespace kb
