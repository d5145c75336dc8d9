// Tests the fit of a power law.
#include "optim/power_law.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

namespace kb::power_law_test {

using Points = std::vector<std::pair<double, double>>;

BOOST_AUTO_TEST_SUITE(power_law)

BOOST_AUTO_TEST_CASE(a_law_is_found_again) {
  Points points;
  for (const double x : {0.8, 1.0, 1.5, 4.0}) points.emplace_back(x, 120 * std::pow(x, -1 / 0.21));
  const PowerLaw law = fit_power_law(points).value();
  BOOST_TEST(law.factor == 120, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(law.exponent == -1 / 0.21, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(law.standard_error < 1e-9);
  BOOST_TEST(law.at(2) == 120 * std::pow(2, -1 / 0.21), boost::test_tools::tolerance(1e-9));
}

// The standard error is that of a regression: log y is off the line by r, -2 r, r at log x = -1, 0, 1.
BOOST_AUTO_TEST_CASE(scatter_gives_the_exponent_an_error) {
  constexpr double kOff = 0.1;
  const Points points = {{std::exp(-1), std::exp(kOff)}, {1, std::exp(-2 * kOff)}, {std::exp(1), std::exp(kOff)}};
  const PowerLaw law = fit_power_law(points).value();
  BOOST_TEST(std::abs(law.exponent) < 1e-12);
  BOOST_TEST(law.standard_error == kOff * std::sqrt(3), boost::test_tools::tolerance(1e-9));  // sqrt(6 r^2 / 1 / 2)
  BOOST_TEST(fit_power_law(Points{{1, 2}, {2, 8}}).value().standard_error == 0);
}

BOOST_AUTO_TEST_CASE(too_few_points_have_no_law) {
  BOOST_TEST(!fit_power_law({}));
  BOOST_TEST(!fit_power_law(Points{{1, 2}}));
  BOOST_TEST(!fit_power_law(Points{{3, 2}, {3, 4}}));
  BOOST_TEST(!fit_power_law(Points{{1, 2}, {2, 0}}));
  BOOST_TEST(!fit_power_law(Points{{-1, 2}, {2, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::power_law_test
