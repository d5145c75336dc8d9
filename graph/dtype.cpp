#include "graph/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "graph/error.h"

namespace kb {
namespace {

// Returns `value` in f32, rounded so that a second rounding to 16 bits gives what one rounding would have given: a
// value that f32 does not hold becomes the neighbour whose last bit is 1 (Boldo and Melquiond 2008).
float round_to_odd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) nearest = std::nextafterf(nearest, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) | 1u);
}

// Truncates `value` towards zero and takes it modulo 2^64. NaN and infinities give 0.
int64_t whole(double value) {
  if (!std::isfinite(value)) return 0;
  const double rest = std::fmod(std::trunc(value), 0x1p64);
  const auto magnitude = static_cast<uint64_t>(std::fabs(rest));
  return static_cast<int64_t>(rest < 0 ? 0 - magnitude : magnitude);
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

// The shift to the left drops the bits that the dtype lacks; the one to the right repeats the sign of a signed number.
int64_t wrap(DType dtype, int64_t value) {
  if (dtype == DType::boolean) return value != 0;
  const int unused = 64 - info(dtype).bits;
  const uint64_t kept = static_cast<uint64_t>(value) << unused;
  return is_signed(dtype) ? static_cast<int64_t>(kept) >> unused : static_cast<int64_t>(kept >> unused);
}

std::vector<DType> tensor_dtypes() { return tensor_dtypes(is_of_tensors); }

std::vector<DType> tensor_dtypes(bool (*holds)(DType)) {
  std::vector<DType> dtypes;
  for (const DTypeInfo& row : kDTypes)
    if (is_of_tensors(row.dtype) && holds(row.dtype)) dtypes.push_back(row.dtype);
  return dtypes;
}

std::string names_text(const std::vector<DType>& dtypes) {
  std::string text;
  for (size_t i = 0; i < dtypes.size(); ++i)
    text += (i == 0 ? "" : i + 1 < dtypes.size() ? ", " : " or ") + std::string(name(dtypes[i]));
  return text;
}

DType parse_dtype(std::string_view text) {
  std::string known;
  for (const DTypeInfo& row : kDTypes) {
    if (row.name == text) return row.dtype;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
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
    case DType::boolean:
      return value != 0 ? 1 : 0;
    default:
      return static_cast<double>(wrap(dtype, whole(value)));
  }
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
    case DType::boolean:
      return load<uint8_t>(data, index);
    default:
      break;
  }
  int64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(data) + index * size_of(dtype), static_cast<size_t>(size_of(dtype)));
  return static_cast<double>(wrap(dtype, bits));
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
    default:
      break;
  }
  const auto bits = static_cast<int64_t>(round_to(dtype, value));
  std::memcpy(static_cast<char*>(data) + index * size_of(dtype), &bits, static_cast<size_t>(size_of(dtype)));
}

}  // namespace kb
