#include "optim/distributions.h"

#include <boost/math/distributions/students_t.hpp>
#include <boost/test/unit_test.hpp>

namespace kb::distributions_test {

BOOST_AUTO_TEST_SUITE(distributions)

BOOST_AUTO_TEST_CASE(students_t_is_boosts) {
  for (int64_t degrees = 1; degrees <= 60; ++degrees)
    for (const double alpha : {0.05, 0.01, 0.3}) {
      const boost::math::students_t t(static_cast<double>(degrees));
      const double quantile = boost::math::quantile(boost::math::complement(t, alpha));
      BOOST_TEST(student_t(alpha, degrees) == quantile, boost::test_tools::tolerance(1e-9));
      BOOST_TEST(student_within(quantile, degrees) == 1 - 2 * alpha, boost::test_tools::tolerance(1e-9));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::distributions_test
