#include "optim/distributions.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "graph/error.h"

namespace kb {

// Abramowitz and Stegun 26.7.3 and 26.7.4, finite sums for whole degrees.
double student_within(double t, int64_t degrees) {
  ensure(degrees >= 1, "student_within: expected degrees of freedom from 1 on");
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

double student_t(double alpha, int64_t degrees) {
  double low = 0, high = 1;
  while (student_within(high, degrees) < 1 - 2 * alpha) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::midpoint(low, high);
    (student_within(middle, degrees) < 1 - 2 * alpha ? low : high) = middle;
  }
  return std::midpoint(low, high);
}

}  // namespace kb
