#include "optim/ratio_interval.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "optim/distributions.h"

namespace kb::ratio_interval_test {
namespace {

constexpr double kT = 2.570581835636314;  // of Student's t with 5 degrees of freedom, 2.5 % lie above it

// Returns the square of a - r b, less that of t times its standard error: 0 at an end of Fieller's interval.
double excess(const MeanPair& m, double r) {
  return std::pow(m.numerator - r * m.denominator, 2) -
         kT * kT * (m.numerator_variance - 2 * r * m.covariance + r * r * m.denominator_variance);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ratio_interval)

BOOST_AUTO_TEST_CASE(moments_of_pairs_have_their_closed_forms) {
  const auto close = boost::test_tools::tolerance(1e-14);
  const MeanPair m = MeanPair::of(std::vector<double>{1, 2, 6}, std::vector<double>{4, 1, 1});
  BOOST_TEST(m.numerator == 3, close);
  BOOST_TEST(m.denominator == 2, close);
  BOOST_TEST(m.numerator_variance == 14.0 / 2 / 3, close);
  BOOST_TEST(m.denominator_variance == 6.0 / 2 / 3, close);
  BOOST_TEST(m.covariance == -6.0 / 2 / 3, close);
  BOOST_TEST(m.degrees == 2, close);
  BOOST_TEST(MeanPair::of(std::vector<double>{1, 2}, std::vector<double>{4, 1}).degrees == 1, close);
  BOOST_CHECK_THROW(MeanPair::of(std::vector<double>{1}, std::vector<double>{4}), std::invalid_argument);
  BOOST_CHECK_THROW(MeanPair::of(std::vector<double>{1, 2, 6}, std::vector<double>{4, 1}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(its_ends_are_those_of_fieller) {
  for (const double covariance : {-0.01, 0.0, 0.01}) {
    const MeanPair m{2, 1, 0.04, 0.01, covariance, 5};
    const RatioInterval interval = fieller(m);
    BOOST_TEST(interval.low < 2);
    BOOST_TEST(interval.high.value() > 2);
    for (const double end : {interval.low, *interval.high}) BOOST_TEST(std::abs(excess(m, end)) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(a_denominator_that_may_be_zero_leaves_no_upper_end) {
  const MeanPair lost{2, 0.1, 0.04, 0.01, 0, 5};
  BOOST_TEST(!fieller(lost).high);
  BOOST_TEST(std::abs(excess(lost, fieller(lost).low)) < 1e-12);
  // The denominator is just t times its standard error.
  const double t = student_t(0.025, 5);
  const RatioInterval at_edge = fieller({20, t, 1, 1, 0, 5});
  BOOST_TEST(at_edge.low == (400 - t * t) / (2 * 20 * t), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!at_edge.high);
  // Neither is known from 0, and they vary together: any ratio may be.
  const RatioInterval any = fieller({0.1, 0.1, 1, 1, 0.5, 5});
  BOOST_TEST(any.low == 0);
  BOOST_TEST(!any.high);
}

BOOST_AUTO_TEST_CASE(a_ratio_below_zero_has_its_ends_at_zero) {
  const RatioInterval interval = fieller({1, -1, 0.01, 0.01, 0, 5});
  BOOST_TEST(interval.low == 0);
  BOOST_TEST(interval.high.value() == 0);
}

// The root of rounding errors below 0 would be no number.
BOOST_AUTO_TEST_CASE(means_without_variance_give_their_ratio) {
  for (int i = 1; i < 30; ++i)
    for (int j = 1; j < 30; ++j) {
      const double a = 0.1 * i, b = 0.7 * j;
      const RatioInterval interval = fieller({a, b, 0, 0, 0, 5});
      BOOST_TEST(interval.low == a / b, boost::test_tools::tolerance(1e-6));
      BOOST_TEST(interval.high.value() == a / b, boost::test_tools::tolerance(1e-6));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::ratio_interval_test
