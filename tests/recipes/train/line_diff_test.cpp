#include "recipes/train/line_diff.h"

#include <boost/test/unit_test.hpp>

namespace kb::line_diff_test {

BOOST_AUTO_TEST_SUITE(line_diff)

BOOST_AUTO_TEST_CASE(only_what_differs) {
  BOOST_TEST(kb::line_diff("a\nb\nc\n", "a\nx\nc\ny\n") == "- b\n+ x\n+ y");
  BOOST_TEST(kb::line_diff("a\nb", "a\nb\n") == "");
  BOOST_TEST(kb::line_diff("", "a") == "+ a");
  BOOST_TEST(kb::line_diff("a\na\n", "a\n") == "- a");
}

BOOST_AUTO_TEST_CASE(numbers_of_values_do_not_matter_unless_nothing_else_does) {
  BOOST_TEST(kb::line_diff("%0 = a\n%1 = b %0\n", "%0 = a\n%1 = c %0\n%2 = b %1\n") == "+ %1 = c %0");
  BOOST_TEST(kb::line_diff("%2 = b %0\n", "%2 = b %1\n") == "- %2 = b %0\n+ %2 = b %1");
}

BOOST_AUTO_TEST_CASE(long_ones_are_cut) {
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "x" + std::to_string(i) + "\n";
  BOOST_TEST(kb::line_diff("", many, 2) == "+ x0\n+ x1\n... and 4998 lines more");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::line_diff_test
