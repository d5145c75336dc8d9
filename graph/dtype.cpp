#include "graph/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "graph/error.h"

namespace kb {
namespace {

enum class Class : uint8_t { floating, integer, boolean };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int64_t bytes;
  Class cls;
};

constexpr std::array<DTypeInfo, 9> kTable{{
    {DType::f64, "f64", 8, Class::floating},
    {DType::f32, "f32", 4, Class::floating},
    {DType::bf16, "bf16", 2, Class::floating},
    {DType::f16, "f16", 2, Class::floating},
    {DType::i32, "i32", 4, Class::integer},
    {DType::u32, "u32", 4, Class::integer},
    {DType::u8, "u8", 1, Class::integer},
    {DType::boolean, "bool", 1, Class::boolean},
    {DType::i64, "i64", 8, Class::integer},
}};

const DTypeInfo& row(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

// Returns `value` in f32, rounded so that a second rounding to 16 bits gives what one rounding would have given: a
// value that f32 does not hold becomes the neighbour whose last bit is 1 (Boldo and Melquiond 2008).
float round_to_odd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) nearest = std::nextafterf(nearest, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) | 1u);
}

// Truncates `value` towards zero and takes it modulo 2^bits into the type's range. NaN and infinities give 0.
double wrap(double value, int bits, bool is_signed) {
  if (!std::isfinite(value)) return 0;
  const double modulus = std::ldexp(1.0, bits);
  double rest = std::fmod(std::trunc(value), modulus);
  if (is_signed) {
    if (rest >= modulus / 2) rest -= modulus;
    if (rest < -modulus / 2) rest += modulus;
  } else if (rest < 0) {
    rest += modulus;
  }
  return rest + 0.0;
}

template <class T>
T load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(void* data, int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
int64_t size_of(DType dtype) { return row(dtype).bytes; }
bool is_float(DType dtype) { return row(dtype).cls == Class::floating; }
bool is_integer(DType dtype) { return row(dtype).cls == Class::integer; }
bool is_low_precision(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

DType parse_dtype(std::string_view text) {
  std::string known;
  for (const DTypeInfo& info : kTable) {
    if (info.name == text) return info.dtype;
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error("unknown dtype '" + std::string(text) + "'; known: " + known);
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f64:
      return value;
    case DType::f32:
      return static_cast<double>(static_cast<float>(value));
    case DType::bf16:
      return static_cast<double>(bf16_to_float(float_to_bf16(round_to_odd(value))));
    case DType::f16:
      return static_cast<double>(f16_to_float(float_to_f16(round_to_odd(value))));
    case DType::i32:
      return wrap(value, 32, true);
    case DType::u32:
      return wrap(value, 32, false);
    case DType::u8:
      return wrap(value, 8, false);
    case DType::boolean:
      return value != 0 ? 1 : 0;
    case DType::i64:
      return wrap(value, 64, true);
  }
  throw InternalError("round_to: unknown dtype");
}

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  // f16 ends at 65504: 65520 and above round to infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14 lie f16's subnormals: adding 0.5 leaves them, rounded to even, in the low bits of the sum.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float f16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

double load_element(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::f64:
      return load<double>(data, index);
    case DType::f32:
      return static_cast<double>(load<float>(data, index));
    case DType::bf16:
      return static_cast<double>(bf16_to_float(load<uint16_t>(data, index)));
    case DType::f16:
      return static_cast<double>(f16_to_float(load<uint16_t>(data, index)));
    case DType::i32:
      return load<int32_t>(data, index);
    case DType::u32:
      return load<uint32_t>(data, index);
    case DType::u8:
    case DType::boolean:
      return load<uint8_t>(data, index);
    case DType::i64:
      return static_cast<double>(load<int64_t>(data, index));
  }
  throw InternalError("load_element: unknown dtype");
}

void store_element(DType dtype, void* data, int64_t index, double value) {
  switch (dtype) {
    case DType::f64:
      return store<double>(data, index, value);
    case DType::f32:
      return store<float>(data, index, static_cast<float>(value));
    case DType::bf16:
      return store<uint16_t>(data, index, float_to_bf16(round_to_odd(value)));
    case DType::f16:
      return store<uint16_t>(data, index, float_to_f16(round_to_odd(value)));
    case DType::i32:
      return store<int32_t>(data, index, static_cast<int32_t>(round_to(dtype, value)));
    case DType::u32:
      return store<uint32_t>(data, index, static_cast<uint32_t>(round_to(dtype, value)));
    case DType::u8:
    case DType::boolean:
      return store<uint8_t>(data, index, static_cast<uint8_t>(round_to(dtype, value)));
    case DType::i64:
      return store<int64_t>(data, index, static_cast<int64_t>(round_to(dtype, value)));
  }
  throw InternalError("store_element: unknown dtype");
}

}  // namespace kb
