#include "optim/box_maximum.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace kb::box_maximum_test {
namespace {

using Vector = std::vector<double>;
using boost::test_tools::tolerance;

// Returns the sum of a_i (x_i - m_i)^2 / 2.
DifferentiableFunction parabolas(const Vector& a, const Vector& m) {
  return [=](const Vector& x) {
    ValueAndGradient at{0, Vector(x.size())};
    for (size_t i = 0; i < x.size(); ++i) {
      at.gradient[i] = a[i] * (x[i] - m[i]);
      at.value += at.gradient[i] * (x[i] - m[i]) / 2;
    }
    return at;
  };
}

bool is_in(const Vector& x, const Vector& centre, const Vector& half_widths) {
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] < centre[i] - half_widths[i] || x[i] > centre[i] + half_widths[i]) return false;
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(box_maximum)

BOOST_AUTO_TEST_CASE(a_linear_function_is_greatest_in_a_corner) {
  const Vector slopes = {3, -0.5, 0, 1e-9}, centre = {1, -2, 3, 4}, half_widths = {0.5, 2, 1, 0.25};
  const DifferentiableFunction linear = [&](const Vector& x) {
    ValueAndGradient at{7, slopes};
    for (size_t i = 0; i < x.size(); ++i) at.value += slopes[i] * (x[i] - centre[i]);
    return at;
  };
  const BoxMaximum found = maximise_in_box(linear, centre, half_widths, 10);
  BOOST_TEST(found.start == 7);
  BOOST_TEST(found.value == 7 + 3 * 0.5 + 0.5 * 2 + 1e-9 * 0.25, tolerance(1e-15));
  BOOST_TEST(found.point == (Vector{1.5, -4, 3, 4.25}));
  BOOST_TEST(found.iterations == 1);
  BOOST_TEST(found.evaluations == 2);
  BOOST_TEST(found.is_stationary);
}

// A parabola that opens upwards is greatest at the end that is farther from its vertex, one that opens downwards at the
// vertex or the end that is nearer to it.
BOOST_AUTO_TEST_CASE(parabolas_of_all_kinds_give_their_closed_form) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 50; ++trial) {
    Vector a(8), m(8), centre(8), half_widths(8), best(8);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = (trial % 3 == 0 ? -1 : trial % 3 == 1 ? 1 : i % 2 == 0 ? 1 : -1) * std::exp(2 * normal(random));
      m[i] = normal(random), centre[i] = normal(random), half_widths[i] = std::abs(normal(random));
      const double low = centre[i] - half_widths[i], high = centre[i] + half_widths[i];
      const double near = std::clamp(m[i], low, high), far = m[i] < centre[i] ? high : low;
      best[i] = a[i] > 0 ? far : near;
    }
    const DifferentiableFunction function = parabolas(a, m);
    const BoxMaximum found = maximise_in_box(function, centre, half_widths, 500);
    BOOST_TEST(found.value == function(best).value, tolerance(1e-9));
    BOOST_TEST(found.value == function(found.point).value, tolerance(1e-12));
    BOOST_TEST(is_in(found.point, centre, half_widths));
    const BoxMaximum one = maximise_in_box(function, centre, half_widths, 1);
    BOOST_TEST(one.iterations == 1);
    BOOST_TEST(one.start < one.value);
    BOOST_TEST(one.value <= found.value);
  }
}

// Rosenbrock's function, turned upside down: its only maximum is 0 at (1, 1), at the end of a curved ridge.
BOOST_AUTO_TEST_CASE(a_curved_ridge_is_climbed_to_its_end) {
  const DifferentiableFunction ridge = [](const Vector& x) {
    const double up = x[1] - x[0] * x[0], back = 1 - x[0];
    return ValueAndGradient{-100 * up * up - back * back, {400 * up * x[0] + 2 * back, -200 * up}};
  };
  const BoxMaximum whole = maximise_in_box(ridge, {-1.2, 1}, Vector{5, 5}, 5000);
  BOOST_TEST(whole.point[0] == 1, tolerance(1e-4));
  BOOST_TEST(whole.point[1] == 1, tolerance(1e-4));
  const BoxMaximum cut = maximise_in_box(ridge, {-0.25, 0}, Vector{0.75, 5}, 5000);  // the ridge meets x = 0.5
  BOOST_TEST(cut.point[0] == 0.5, tolerance(1e-9));
  BOOST_TEST(cut.point[1] == 0.25, tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(values_that_are_not_finite_are_passed_over) {
  for (const double beyond : {HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    const DifferentiableFunction edged = [&](const Vector& x) {
      return ValueAndGradient{x[0] > 0.3 ? beyond : x[0], {1}};
    };
    const BoxMaximum found = maximise_in_box(edged, {0}, Vector{1}, 1);
    BOOST_TEST(found.value == 0.25);
    BOOST_CHECK_THROW(maximise_in_box(edged, {0.5}, Vector{1}, 1), std::domain_error);
    const DifferentiableFunction steep = [&](const Vector&) { return ValueAndGradient{1, {beyond}}; };
    BOOST_CHECK_THROW(maximise_in_box(steep, {0}, Vector{1}, 1), std::domain_error);
  }
}

BOOST_AUTO_TEST_CASE(a_function_that_does_not_rise_keeps_its_start) {
  const DifferentiableFunction flat = [](const Vector& x) { return ValueAndGradient{5, Vector(x.size())}; };
  const BoxMaximum found = maximise_in_box(flat, {1, 2}, Vector{1, 1}, 9);
  BOOST_TEST(found.value == 5);
  BOOST_TEST(found.iterations == 0);
  BOOST_TEST(found.evaluations == 1);
  BOOST_TEST(found.is_stationary);
  // A gradient that is wrong promises a rise that never comes.
  const DifferentiableFunction wrong = [](const Vector& x) { return ValueAndGradient{-x[0] * x[0], {1}}; };
  const BoxMaximum stuck = maximise_in_box(wrong, {0}, Vector{1}, 9);
  BOOST_TEST(stuck.value == 0);
  BOOST_TEST(!stuck.is_stationary);
  BOOST_TEST(stuck.evaluations <= 30);
  BOOST_CHECK_THROW(maximise_in_box(flat, {1, 2}, Vector{1}, 9), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::box_maximum_test
