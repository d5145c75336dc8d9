// Tests that a table of an enumeration has an entry for each of its values.
#include "graph/enum_table.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <type_traits>

namespace kb::enum_table_test {
namespace {

enum class Tone : uint8_t { red, f32, u8 };

template <size_t count>
constexpr bool makes_a_table = std::is_constructible_v<EnumNames<Tone>, const std::string_view (&)[count]>;

}  // namespace

BOOST_AUTO_TEST_SUITE(enum_table)

BOOST_AUTO_TEST_CASE(a_value_without_an_entry_is_refused) {
  static_assert(enumerators<Tone>() == 3);
  BOOST_TEST(makes_a_table<3>);
  BOOST_TEST(!makes_a_table<2>);
  BOOST_TEST(!makes_a_table<4>);
  constexpr EnumNames<Tone> kNames({"red", "f32", "u8"});
  BOOST_TEST(kNames[Tone::u8] == "u8");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::enum_table_test
