// Tests Student's t against closed forms for whole degrees of freedom, and against an integral of its density for
// fractional ones.
#include "optim/distributions.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace kb::distributions_test {
namespace {

// Returns the probability within +-t by finite sums for whole degrees: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
double within_by_sums(double t, int64_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double c = std::cos(angle), s = std::sin(angle);
  const bool is_odd = degrees % 2 == 1;
  double term = is_odd ? c : 1, sum = degrees == 1 ? 0 : term;
  for (int64_t k = is_odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= c * c * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  return is_odd ? 2 / std::numbers::pi * (angle + s * sum) : s * sum;
}

double within_by_integral(double t, double degrees) {
  constexpr int kParts = 20000;
  const double scale =
      std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(degrees * std::numbers::pi);
  double sum = 0;
  for (int i = 0; i < kParts; ++i) {
    const double x = t * (i + 0.5) / kParts;
    sum += std::pow(1 + x * x / degrees, -(degrees + 1) / 2);
  }
  return 2 * scale * sum * t / kParts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(distributions)

BOOST_AUTO_TEST_CASE(students_t_of_whole_degrees) {
  for (int64_t degrees = 1; degrees <= 60; ++degrees)
    for (const double alpha : {0.05, 0.01, 0.3}) {
      const double quantile = student_t(alpha, static_cast<double>(degrees));
      BOOST_TEST(within_by_sums(quantile, degrees) == 1 - 2 * alpha, boost::test_tools::tolerance(1e-12));
      BOOST_TEST(student_outside(quantile, static_cast<double>(degrees)) == 2 * alpha,
                 boost::test_tools::tolerance(1e-12));
    }
}

BOOST_AUTO_TEST_CASE(students_t_of_broken_degrees) {
  for (const double degrees : {1.5, 2.3, 4.88, 7.9})
    for (const double t : {0.4, 2.0, 5.0}) {
      const double outside = student_outside(t, degrees);
      BOOST_TEST(1 - outside == within_by_integral(t, degrees), boost::test_tools::tolerance(1e-7));
      BOOST_TEST(student_t(outside / 2, degrees) == t, boost::test_tools::tolerance(1e-9));
    }
}

// P(|T| > t) is 1 - t / sqrt(t^2 + 2) for two degrees of freedom, here written without the difference of near numbers.
BOOST_AUTO_TEST_CASE(students_t_far_out) {
  for (const double t : {1e3, 1e6, 1e9}) {
    const double root = std::sqrt(t * t + 2);
    BOOST_TEST(student_outside(t, 2) == 2 / (root * (root + t)), boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::distributions_test
