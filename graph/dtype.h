// Element types of tensors: their names, widths and classes, and the rounding of a double to each of them, to nearest
// even.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/enum_table.h"

namespace kb {

// i64 serves index arithmetic inside kernels; no tensor of a user's graph has it.
enum class DType : uint8_t { f64, f32, bf16, f16, i32, u32, u8, boolean, i64 };

enum class DTypeClass : uint8_t { floating, integer, boolean };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int bits;
  DTypeClass cls;
  bool is_signed;
};

inline constexpr EnumTable<DType, DTypeInfo> kDTypes({
    DTypeInfo{DType::f64, "f64", 64, DTypeClass::floating, true},
    DTypeInfo{DType::f32, "f32", 32, DTypeClass::floating, true},
    DTypeInfo{DType::bf16, "bf16", 16, DTypeClass::floating, true},
    DTypeInfo{DType::f16, "f16", 16, DTypeClass::floating, true},
    DTypeInfo{DType::i32, "i32", 32, DTypeClass::integer, true},
    DTypeInfo{DType::u32, "u32", 32, DTypeClass::integer, false},
    DTypeInfo{DType::u8, "u8", 8, DTypeClass::integer, false},
    DTypeInfo{DType::boolean, "bool", 1, DTypeClass::boolean, false},
    DTypeInfo{DType::i64, "i64", 64, DTypeClass::integer, true},
});

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[dtype]; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
// Returns the bytes of one element in memory; a boolean takes 1.
constexpr int64_t size_of(DType dtype) { return (info(dtype).bits + 7) / 8; }
inline constexpr int64_t kPackedBits = 8;  // booleans that Op::pack_bits holds in one u8
constexpr bool is_float(DType dtype) { return info(dtype).cls == DTypeClass::floating; }
constexpr bool is_integer(DType dtype) { return info(dtype).cls == DTypeClass::integer; }
constexpr bool is_signed(DType dtype) { return info(dtype).is_signed; }
// True for bf16 and f16: arithmetic on them widens to f32 and rounds the result.
constexpr bool is_low_precision(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }
// Returns the dtype in which arithmetic on `dtype` is done: f32 for bf16 and f16, each other dtype for itself.
constexpr DType arithmetic_dtype(DType dtype) { return is_low_precision(dtype) ? DType::f32 : dtype; }
// True for integers of fewer than 32 bits: arithmetic on them widens to 32 bits and wraps the result.
constexpr bool is_narrow(DType dtype) { return is_integer(dtype) && info(dtype).bits < 32; }
constexpr bool is_of_tensors(DType dtype) { return dtype != DType::i64; }

// Return the least and the greatest value of an integer dtype or of boolean.
constexpr int64_t greatest(DType dtype) {
  return static_cast<int64_t>(UINT64_MAX >> (64 - info(dtype).bits + (is_signed(dtype) ? 1 : 0)));
}
constexpr int64_t least(DType dtype) { return is_signed(dtype) ? -greatest(dtype) - 1 : 0; }
// Returns the value of an integer dtype that is `value` modulo 2^bits; for boolean, whether `value` is not 0.
int64_t wrap(DType dtype, int64_t value);

// Returns the dtypes of tensors, in the order of DType; the second function returns those that `holds` is true of.
std::vector<DType> tensor_dtypes();
std::vector<DType> tensor_dtypes(bool (*holds)(DType));
// Returns a text such as "i32, u32 or u8".
std::string names_text(const std::vector<DType>& dtypes);
// Returns the dtype that name() calls `text`. Throws Error when there is none.
DType parse_dtype(std::string_view text);
// Returns what is read back after `value` was stored in `dtype`. Integers truncate it towards zero and wrap modulo
// 2^bits.
double round_to(DType dtype, double value);

uint16_t float_to_bf16(float value);
float bf16_to_float(uint16_t bits);
uint16_t float_to_f16(float value);
float f16_to_float(uint16_t bits);

// The first function reads element number `index` of the array at `data` as a double; the second stores `value` there.
double load_element(DType dtype, const void* data, int64_t index);
void store_element(DType dtype, void* data, int64_t index, double value);

}  // namespace kb
