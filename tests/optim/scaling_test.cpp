#include "optim/scaling.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::scaling_test {

BOOST_AUTO_TEST_SUITE(scaling)

// The rate for a minibatch of kn samples is 0.1 kn / 256: Goyal et al. 2017, figure 1.
BOOST_AUTO_TEST_CASE(linear_gives_the_papers_rates) {
  ReferenceRate reference{0.1, 256, "linear"};
  BOOST_TEST(reference.at(64) == 0.025);
  BOOST_TEST(reference.at(256) == 0.1);
  BOOST_TEST(reference.at(8192) == 3.2);
  BOOST_TEST(reference.derivation(1024) == "0.4 = 0.1 x 1024/256");
}

BOOST_AUTO_TEST_CASE(square_root_and_none) {
  ReferenceRate root{0.1, 256, "sqrt"}, none{0.1, 256, "none"};
  BOOST_TEST(root.at(1024) == 0.2);
  BOOST_TEST(root.derivation(1024) == "0.2 = 0.1 x sqrt(1024/256)");
  BOOST_TEST(none.at(1024) == 0.1);
  BOOST_TEST(none.derivation(1024) == "0.1");
}

BOOST_AUTO_TEST_CASE(without_a_base_the_rate_holds_for_any_minibatch) {
  ReferenceRate reference{0.3, 0, "linear"};
  BOOST_TEST(reference.at(7) == 0.3);
  BOOST_TEST(reference.derivation(7) == "0.3");
}

BOOST_AUTO_TEST_CASE(adascale_leaves_the_base_rate_to_the_gains_of_the_steps) {
  BOOST_TEST((ReferenceRate{0.1, 256, "adascale"}.at(1024)) == 0.1);
  BOOST_TEST((ReferenceRate{0.1, 256, "adascale"}.derivation(1024)) == "0.1");
  BOOST_TEST((ReferenceRate{0.1, 256, "adascale"}.has_gains()));
  BOOST_TEST(!(ReferenceRate{0.1, 0, "adascale"}.has_gains()));
  BOOST_TEST(!(ReferenceRate{0.1, 256, "linear"}.has_gains()));
}

BOOST_AUTO_TEST_CASE(an_unknown_rule_is_named) {
  BOOST_TEST(test::error_of([&] {
               ReferenceRate{0.1, 256, "cubic"}.at(1);
             }) == "scaling rule: expected one of none, linear, sqrt, adascale, got 'cubic'");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::scaling_test
