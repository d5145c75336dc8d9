#include "optim/curvature.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

namespace kb::curvature_test {
namespace {

using Vector = std::vector<double>;
using boost::test_tools::tolerance;

// The matrix of n rows with 2 on its diagonal and -1 beside it has the eigenvalues 2 - 2 cos(pi k / (n + 1)), k = 1 to
// n.
Vector second_differences(const Vector& v) {
  Vector product;
  for (size_t i = 0; i < v.size(); ++i)
    product.push_back(2 * v[i] - (i > 0 ? v[i - 1] : 0) - (i + 1 < v.size() ? v[i + 1] : 0));
  return product;
}

double exact_eigenvalue(int k, int n) { return 2 - 2 * std::cos(std::numbers::pi * k / (n + 1)); }

MatrixProduct times_diagonal(const Vector& diagonal) {
  return [&diagonal](Vector v) {
    for (size_t i = 0; i < v.size(); ++i) v[i] *= diagonal[i];
    return v;
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(curvature)

BOOST_AUTO_TEST_CASE(an_eigenvalue_lies_within_the_residual) {
  constexpr int n = 60;
  for (const double share : {0.1, 1e-3, 1e-9}) {
    const Spectrum ends = lanczos(second_differences, n, {.eigenvalues = 3, .tolerance = share});
    BOOST_REQUIRE(ends.largest.size() == 3U);
    BOOST_TEST(ends.products <= n);
    const auto distance = [](double value) {
      double least = HUGE_VAL;
      for (int k = 1; k <= n; ++k) least = std::min(least, std::abs(value - exact_eigenvalue(k, n)));
      return least;
    };
    for (const Eigenvalue& e : ends.largest) {
      BOOST_TEST(e.residual <= share * exact_eigenvalue(n, n) * (1 + 1e-12));
      BOOST_TEST(distance(e.value) <= e.residual + 1e-10);
    }
    if (share > 1e-6) continue;
    for (int i = 0; i < 3; ++i)
      BOOST_TEST(ends.largest[static_cast<size_t>(i)].value == exact_eigenvalue(n - i, n), tolerance(1e-9));
  }
}

// After two products the vector that was found is a combination of two of Lanczos' vectors, which the matrix is
// multiplied by: it has the residual that is told.
BOOST_AUTO_TEST_CASE(the_residual_is_that_of_the_vector) {
  std::vector<Vector> basis;
  const MatrixProduct product = [&](const Vector& v) {
    basis.push_back(v);
    return second_differences(v);
  };
  const Eigenvalue found = lanczos(product, 20, {.tolerance = 0, .most_products = 2}).largest.front();
  BOOST_REQUIRE(basis.size() == 2u);
  const auto dot = [](const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double across = dot(basis[0], second_differences(basis[1])),
               along = found.value - dot(basis[0], second_differences(basis[0])), length = std::hypot(across, along);
  Vector v;
  for (size_t i = 0; i < 20; ++i) v.push_back((across * basis[0][i] + along * basis[1][i]) / length);
  BOOST_TEST(dot(v, v) == 1, tolerance(1e-12));
  Vector rest = second_differences(v);
  for (size_t i = 0; i < 20; ++i) rest[i] -= found.value * v[i];
  BOOST_TEST(found.residual == std::sqrt(dot(rest, rest)), tolerance(1e-9));
}

// The matrix is the identity and 99 along a vector of which the first of Lanczos' vectors has next to nothing: after
// one product the residual of the eigenvalue 1 is small.
BOOST_AUTO_TEST_CASE(a_small_residual_at_the_start_hides_no_larger_eigenvalue) {
  Vector direction;
  const auto product = [&](Vector v) {
    if (direction.empty()) {
      direction.assign(v.size(), 0);
      direction[0] = v[1] * (1 + 1e-4), direction[1] = -v[0];
      const double length = std::hypot(direction[0], direction[1]);
      for (double& x : direction) x /= length;
    }
    const double along = std::inner_product(v.begin(), v.end(), direction.begin(), 0.0);
    for (size_t i = 0; i < v.size(); ++i) v[i] += 99 * along * direction[i];
    return v;
  };
  BOOST_TEST(lanczos(product, 60, {.tolerance = 0.01}).largest.front().value == 100, tolerance(1e-6));
  BOOST_TEST(lanczos(second_differences, 60, {.tolerance = 1}).products == 16);
  const Spectrum many = lanczos(second_differences, 60, {.eigenvalues = 20, .tolerance = 1});
  BOOST_TEST(many.largest.size() == 20u);
}

// The eigenvalues x of second_differences() lie about 2 as 4 - x do. So those of s (A - 4 I), which are not above 0,
// take as many products as those of A do.
BOOST_AUTO_TEST_CASE(the_tolerance_is_a_share_of_the_greatest_magnitude) {
  const int64_t products = lanczos(second_differences, 60, {.tolerance = 1e-3}).products;
  BOOST_TEST(products > 16);
  BOOST_TEST(products < 60);
  for (const double s : {1.0, 1e6, 1e-6}) {
    const auto shifted = [s](const Vector& v) {
      Vector product = second_differences(v);
      for (size_t i = 0; i < v.size(); ++i) product[i] = s * (product[i] - 4 * v[i]);
      return product;
    };
    BOOST_TEST(lanczos(shifted, 60, {.tolerance = 1e-3}).products == products);
  }
}

// The products of a matrix with k eigenvalues span k dimensions.
BOOST_AUTO_TEST_CASE(few_eigenvalues_take_as_few_products) {
  for (const double s : {1.0, 1e9, 1e-9}) {
    Vector diagonal = {2, -1, 5, 5, 2, -1, -1};
    for (double& x : diagonal) x *= s;
    const Spectrum ends = lanczos(times_diagonal(diagonal), 7, {.eigenvalues = 9, .tolerance = 0});
    BOOST_TEST(ends.products == 3);
    BOOST_TEST(ends.largest.front().value == 5 * s, tolerance(1e-12));
    BOOST_TEST(ends.smallest.value == -s, tolerance(1e-12));
    BOOST_TEST(lanczos(times_diagonal(diagonal), 7, {.tolerance = 0, .most_products = 2}).products == 2);
  }
  const Vector zeros(7);
  const Spectrum flat = lanczos(times_diagonal(zeros), 7, {});
  BOOST_TEST(flat.products == 1);
  BOOST_TEST(flat.largest.front().value == 0);
  BOOST_CHECK_THROW(lanczos(times_diagonal(zeros), 0, {}), std::invalid_argument);
  BOOST_CHECK_THROW(lanczos(times_diagonal(zeros), 7, {.eigenvalues = 0}), std::invalid_argument);
}

// The gradient of group i is G plus a times the unit vector of an axis of its own, and G has the first axis.
BOOST_AUTO_TEST_CASE(orthogonal_noise_gives_the_closed_forms) {
  const Vector diagonal = {3, 1, 2, 6, 7};
  const double g = 0.5, a = 0.25;
  const int64_t per_minibatch = 8;
  GradientGroups groups(5, 4);
  for (int minibatch = 0; minibatch < 8; ++minibatch) {
    Vector gradient(5);
    gradient[0] = g;
    gradient[static_cast<size_t>(1 + minibatch % 4)] = a;
    groups.add(gradient);
  }
  const CurvatureNoise noise = curvature_noise(groups, per_minibatch, times_diagonal(diagonal));
  const double samples = 2 * per_minibatch;  // samples of a group
  BOOST_TEST(noise.gradient2 == g * g, tolerance(1e-12));
  BOOST_TEST(noise.trace == samples * a * a, tolerance(1e-12));
  BOOST_TEST(noise.gradient_curvature == 3 * g * g, tolerance(1e-12));
  BOOST_TEST(noise.noise_curvature == samples * a * a * 4, tolerance(1e-12));  // 4 is the mean of 1, 2, 6 and 7
  BOOST_TEST(noise.simple_noise_scale.value == samples * a * a / (g * g), tolerance(1e-12));
  BOOST_TEST(noise.noise_scale.value == samples * a * a * 4 / (3 * g * g), tolerance(1e-12));
  BOOST_TEST(noise.best_rate.value == 1 / 3.0, tolerance(1e-12));
  groups.add(Vector(5));
  BOOST_CHECK_THROW(curvature_noise(groups, per_minibatch, times_diagonal(diagonal)), std::invalid_argument);
  for (const size_t dimension : {4, 6}) BOOST_CHECK_THROW(groups.add(Vector(dimension)), std::invalid_argument);
  for (const int64_t count : {2, 3}) {
    GradientGroups few(1, count), none(1, count);
    for (int64_t i = 0; i < count; ++i) few.add(Vector{1.0 + static_cast<double>(i)});
    const Vector one = {1};
    BOOST_CHECK_THROW(curvature_noise(none, 1, times_diagonal(one)), std::invalid_argument);
    if (count == 2)
      BOOST_CHECK_THROW(curvature_noise(few, 1, times_diagonal(one)), std::invalid_argument);
    else
      BOOST_TEST(curvature_noise(few, 1, times_diagonal(one)).gradient2 == (1 * 2 + 1 * 3 + 2 * 3) / 3.0,
                 tolerance(1e-12));
  }
}

// Gradients are normal, with a covariance as the Hessian, whose eigenvalues fall as 1 / i.
BOOST_AUTO_TEST_CASE(intervals_hold_the_ratio_as_often_as_they_say) {
  constexpr int64_t kDims = 40, kGroups = 16, kPerMinibatch = 400, kTrials = 400;
  Vector diagonal;
  for (int64_t i = 1; i <= kDims; ++i) diagonal.push_back(1 / static_cast<double>(i));
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  double squares = 0, curvature = 0, trace = 0, noise_curvature = 0;
  Vector mean;
  for (const double h : diagonal) {
    mean.push_back(0.1 * std::sqrt(h) * normal(random));
    squares += mean.back() * mean.back();
    curvature += h * mean.back() * mean.back();
    trace += h;
    noise_curvature += h * h;
  }
  int simple = 0, noisy = 0, rate = 0;
  const auto is_in = [](const Ratio& ratio, double value) {
    return ratio.interval.low <= value && value <= ratio.interval.high.value_or(value);
  };
  for (int64_t trial = 0; trial < kTrials; ++trial) {
    GradientGroups groups(kDims, kGroups);
    for (int64_t i = 0; i < kGroups; ++i) {
      Vector gradient = mean;
      for (size_t d = 0; d < gradient.size(); ++d)
        gradient[d] += std::sqrt(diagonal[d] / kPerMinibatch) * normal(random);
      groups.add(gradient);
    }
    const CurvatureNoise found = curvature_noise(groups, kPerMinibatch, times_diagonal(diagonal));
    simple += is_in(found.simple_noise_scale, trace / squares);
    noisy += is_in(found.noise_scale, noise_curvature / curvature);
    rate += is_in(found.best_rate, squares / curvature);
  }
  for (const int held : {simple, noisy, rate}) {
    BOOST_TEST_MESSAGE("held: " << held << " of " << kTrials);
    BOOST_TEST(held >= 0.91 * kTrials);
    BOOST_TEST(held <= 0.995 * kTrials);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::curvature_test
