// Element types of tensors: their names, sizes and classes, and the rounding of a double to each of them, to nearest
// even.
#pragma once
#include <cstdint>
#include <string_view>

namespace kb {

// i64 serves index arithmetic inside kernels; no tensor of a user's graph has it.
enum class DType : uint8_t { f64, f32, bf16, f16, i32, u32, u8, boolean, i64 };

std::string_view name(DType dtype);
// Returns the bytes of one element in memory; a boolean takes 1.
int64_t size_of(DType dtype);
bool is_float(DType dtype);
bool is_integer(DType dtype);  // true for i32, u32, u8, i64
// True for bf16 and f16: arithmetic on them widens to f32 and rounds the result.
bool is_low_precision(DType dtype);
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
