// Tests roundings against definitions that share no code with them: a bit pattern's value is computed from its fields,
// and the nearest value is found among the neighbours.
#include "graph/dtype.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::dtype_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
  uint16_t (*pack)(float);
  float (*unpack)(uint16_t);
};
const Format kFormats[] = {{DType::bf16, 8, 7, float_to_bf16, bf16_to_float},
                           {DType::f16, 5, 10, float_to_f16, f16_to_float}};

// Returns the value of a bit pattern: IEEE 754-2008, section 3.4.
double value_of(const Format& format, uint32_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << format.mantissa_bits) - 1);
  const double sign = bits & 0x8000u ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) return mantissa ? std::nan("") : sign * kInfinity;
  const int implicit = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return sign * std::ldexp(implicit + mantissa, std::max(exponent, 1) - bias - format.mantissa_bits);
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

}  // namespace

BOOST_AUTO_TEST_SUITE(dtype)

BOOST_AUTO_TEST_CASE(all_16_bit_patterns_unpack_to_their_value_and_pack_again) {
  for (const Format& format : kFormats) {
    int wrong = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const double value = value_of(format, bits);
      const float unpacked = format.unpack(static_cast<uint16_t>(bits));
      wrong += !same(static_cast<double>(unpacked), value);
      wrong += format.pack(unpacked) != bits && !std::isnan(value);
      wrong += std::isnan(value) && !std::isnan(format.unpack(format.pack(unpacked)));
      wrong += !same(round_to(format.dtype, value), value);
    }
    BOOST_TEST(wrong == 0, name(format.dtype));
  }
}

BOOST_AUTO_TEST_CASE(between_two_neighbours_the_nearer_wins_and_ties_go_to_even) {
  for (const Format& format : kFormats) {
    int wrong = 0;
    const auto infinity = static_cast<uint32_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
    for (uint32_t bits = 0; bits < infinity; ++bits) {
      const double low = value_of(format, bits);
      // Above the greatest finite value, infinity stands where the next binade would begin.
      const double step = low - (bits == 0 ? -value_of(format, 1) : value_of(format, bits - 1));
      const bool last = bits + 1 == infinity;
      const double high = last ? low + step : value_of(format, bits + 1), above = last ? kInfinity : high;
      const double middle = low + (high - low) / 2, even = bits % 2 == 0 ? low : above;
      wrong += round_to(format.dtype, middle) != even;
      wrong += round_to(format.dtype, -middle) != -even;
      // One unit of a double off the middle: rounding through f32 would lose it and then go to even.
      wrong += round_to(format.dtype, std::nextafter(middle, 0)) != low;
      wrong += round_to(format.dtype, std::nextafter(middle, kInfinity)) != above;
      wrong += static_cast<double>(format.unpack(format.pack(static_cast<float>(middle)))) != even;
    }
    BOOST_TEST(wrong == 0, name(format.dtype));
  }
}

BOOST_AUTO_TEST_CASE(out_of_range_goes_to_infinity_or_zero) {
  for (const Format& format : kFormats) {
    BOOST_TEST(round_to(format.dtype, 1e300) == kInfinity);
    BOOST_TEST(round_to(format.dtype, -1e300) == -kInfinity);
    BOOST_TEST(same(round_to(format.dtype, -1e-300), -0.0));
    BOOST_TEST(std::isnan(round_to(format.dtype, std::nan(""))));
  }
  BOOST_TEST(round_to(DType::f16, 65519.99) == 65504);
  BOOST_TEST(round_to(DType::f16, 65520) == kInfinity);
}

BOOST_AUTO_TEST_CASE(f32_rounds_and_f64_keeps) {
  BOOST_TEST(round_to(DType::f32, 1 + std::ldexp(1, -24)) == 1);
  BOOST_TEST(round_to(DType::f32, 1 + 3 * std::ldexp(1, -24)) == 1 + std::ldexp(1, -22));
  BOOST_TEST(round_to(DType::f64, 0.1) == 0.1);
}

BOOST_AUTO_TEST_CASE(integers_truncate_and_wrap) {
  BOOST_TEST(round_to(DType::i32, -2.9) == -2);
  BOOST_TEST(round_to(DType::i32, 2147483648.0) == -2147483648.0);
  BOOST_TEST(round_to(DType::i32, -2147483649.0) == 2147483647.0);
  BOOST_TEST(round_to(DType::u32, -1) == 4294967295.0);
  BOOST_TEST(round_to(DType::u32, 4294967296.0 + 5) == 5);
  BOOST_TEST(round_to(DType::u8, 259.7) == 3);
  BOOST_TEST(same(round_to(DType::u8, -0.5), 0.0));
  BOOST_TEST(round_to(DType::i32, kInfinity) == 0);
  BOOST_TEST(round_to(DType::boolean, 0.5) == 1);
  BOOST_TEST(round_to(DType::boolean, 0) == 0);
}

BOOST_AUTO_TEST_CASE(integers_have_a_least_and_a_greatest_number) {
  const auto has_range = [](DType dtype, int64_t low, int64_t high) {
    BOOST_TEST(least(dtype) == low, name(dtype));
    BOOST_TEST(greatest(dtype) == high, name(dtype));
    BOOST_TEST(wrap(dtype, low) == low, name(dtype));
    BOOST_TEST(wrap(dtype, high) == high, name(dtype));
  };
  has_range(DType::i32, INT32_MIN, INT32_MAX);
  has_range(DType::u32, 0, UINT32_MAX);
  has_range(DType::u8, 0, 255);
  has_range(DType::boolean, 0, 1);
  has_range(DType::i64, INT64_MIN, INT64_MAX);
  BOOST_TEST(wrap(DType::i32, 3000000000) == -1294967296);
  BOOST_TEST(wrap(DType::u32, -1) == UINT32_MAX);
  BOOST_TEST(wrap(DType::u8, -250) == 6);
  BOOST_TEST(wrap(DType::boolean, 2) == 1);
}

BOOST_AUTO_TEST_CASE(memory_holds_what_rounding_gives) {
  const double values[] = {0, 1, -1, 0.1, 255.5, -70000.25, 3e9, 1e20};
  for (const DTypeInfo& row : kDTypes) {
    const DType dtype = row.dtype;
    std::vector<char> memory(static_cast<size_t>(3 * size_of(dtype)), 'x');
    for (const double value : values) {
      store_element(dtype, memory.data(), 1, value);
      BOOST_TEST(load_element(dtype, memory.data(), 1) == round_to(dtype, value), name(dtype) << " of " << value);
    }
    const auto untouched = [](char c) { return c == 'x'; };
    BOOST_TEST(std::all_of(memory.begin(), memory.begin() + size_of(dtype), untouched));
    BOOST_TEST(std::all_of(memory.begin() + 2 * size_of(dtype), memory.end(), untouched));
  }
}

BOOST_AUTO_TEST_CASE(names_parse_back) {
  for (const char* text : {"f64", "f32", "bf16", "f16", "i32", "u32", "u8", "bool", "i64"})
    BOOST_TEST(name(parse_dtype(text)) == text);
  BOOST_CHECK_EXCEPTION(parse_dtype("float"), Error, test::says("known: f64, f32, bf16"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::dtype_test
