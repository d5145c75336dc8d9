// Numbers for people to read.
#include "runtime/three_digits.h"

#include <boost/test/unit_test.hpp>

namespace kb::three_digits_test {

BOOST_AUTO_TEST_SUITE(digits)

BOOST_AUTO_TEST_CASE(no_number_that_people_measure_has_an_exponent) {
  BOOST_TEST(three_digits(0.01234) == "0.0123");
  BOOST_TEST(three_digits(12.34) == "12.3");
  BOOST_TEST(three_digits(999.4) == "999");
  BOOST_TEST(three_digits(999.7) == "1000");
  BOOST_TEST(three_digits(1234.5) == "1234");
}

BOOST_AUTO_TEST_CASE(a_unit_is_that_of_the_rounded_number) {
  constexpr const char* kUnits[] = {" B", " kB", " MB"};
  BOOST_TEST(with_unit(0, kUnits) == "0 B");
  BOOST_TEST(with_unit(999, kUnits) == "999 B");
  BOOST_TEST(with_unit(1000, kUnits) == "1 kB");
  BOOST_TEST(with_unit(999'400, kUnits) == "999 kB");
  BOOST_TEST(with_unit(999'700, kUnits) == "1 MB");
  BOOST_TEST(with_unit(1.5e9, kUnits) == "1500 MB");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::three_digits_test
