#include "runtime/comm/sum.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "graph/error.h"

namespace kb::test::sum_test {
namespace {

struct Format {
  DType dtype;
  uint16_t (*round)(float);
  float (*widen)(uint16_t);
};
const Format kFormats[] = {{DType::bf16, float_to_bf16, bf16_to_float}, {DType::f16, float_to_f16, f16_to_float}};

// Returns for how many 16-bit patterns the sum with `other` is not rounded as graph/dtype.h rounds it.
int64_t wrong_sums(const Format& format, uint16_t other, bool other_first) {
  std::vector<uint16_t> own(65536), others(65536, other);
  for (size_t i = 0; i < own.size(); ++i) own[i] = static_cast<uint16_t>(i);
  sum_into(format.dtype, reinterpret_cast<std::byte*>(own.data()), reinterpret_cast<const std::byte*>(others.data()),
           65536, other_first);
  int64_t wrong = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const float sum = format.widen(static_cast<uint16_t>(i)) + format.widen(other);
    const bool same = std::isnan(sum) ? std::isnan(format.widen(own[i])) : own[i] == format.round(sum);
    wrong += same ? 0 : 1;
  }
  return wrong;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(comm_sum)

// The second numbers are zeros, subnormal numbers, neighbours of powers of two, the largest, infinity and NaN, of both
// signs.
BOOST_AUTO_TEST_CASE(sixteen_bits_are_summed_as_the_graph_rounds) {
  for (const Format& format : kFormats)
    for (const uint16_t other : {0x0000, 0x0001, 0x0155, 0x03ff, 0x0400, 0x1234, 0x3bff, 0x3c00, 0x3c01, 0x3f7f, 0x3f80,
                                 0x3f81, 0x7bff, 0x7c00, 0x7c01, 0x7f7f, 0x7f80, 0x7fff})
      for (const int sign : {0, 0x8000})
        for (const bool first : {false, true})
          BOOST_TEST(wrong_sums(format, static_cast<uint16_t>(other | sign), first) == 0);
}

// Arrays have any number of whole vectors and a rest, and begin at any address.
BOOST_AUTO_TEST_CASE(any_length_and_place) {
  for (int64_t length = 0; length < 70; ++length)
    for (const int64_t offset : {0, 1, 3}) {
      std::vector<float> own(80, 100.0f), other(80);
      for (size_t i = 0; i < other.size(); ++i) other[i] = static_cast<float>(i);
      sum_into(DType::f32, reinterpret_cast<std::byte*>(own.data() + offset),
               reinterpret_cast<const std::byte*>(other.data()), length, false);
      for (int64_t i = 0; i < 80; ++i) {
        const bool inside = i >= offset && i < offset + length;
        BOOST_REQUIRE(own[static_cast<size_t>(i)] == (inside ? 100.0f + static_cast<float>(i - offset) : 100.0f));
      }
    }
}

BOOST_AUTO_TEST_CASE(whole_numbers_wrap) {
  const uint32_t other[] = {2, 0x80000000u};
  for (const DType dtype : {DType::u32, DType::i32}) {
    uint32_t own[] = {0xffffffffu, 0x80000000u};
    sum_into(dtype, reinterpret_cast<std::byte*>(own), reinterpret_cast<const std::byte*>(other), 2, true);
    BOOST_TEST(own[0] == 1u);
    BOOST_TEST(own[1] == 0u);
  }
  BOOST_CHECK_THROW(sum_into(DType::u8, nullptr, nullptr, 0, false), InternalError);
  BOOST_TEST(!can_sum(DType::boolean));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::test::sum_test
