#include "optim/ratio_interval.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "optim/distributions.h"
#include "optim/mean_ends.h"

namespace kb {

namespace {

constexpr double kTail = 0.025;

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

MeanPair MeanPair::of(std::span<const double> numerators, std::span<const double> denominators) {
  const size_t n = numerators.size();
  if (n < 2 || denominators.size() != n) throw std::invalid_argument("ratio: expected two pairs or more");
  const double degrees = static_cast<double>(n) - 1;
  MeanPair m{mean(numerators), mean(denominators), 0, 0, 0, degrees};
  for (size_t i = 0; i < n; ++i) {
    const double a = numerators[i] - m.numerator, b = denominators[i] - m.denominator;
    const double share = 1 / degrees / static_cast<double>(n);  // share in the variance of a mean
    m.numerator_variance += a * a * share;
    m.denominator_variance += b * b * share;
    m.covariance += a * b * share;
  }
  return m;
}

// The interval has all r with (a - r b)^2 <= t^2 (var_a - 2 r cov + r^2 var_b), which is square r^2 - 2 linear r +
// constant <= 0. It has no upper end if b may be 0.
RatioInterval fieller(const MeanPair& m) {
  const double a = m.numerator, b = m.denominator;
  const double t = student_t(kTail, m.degrees), t2 = t * t;
  const double square = b * b - t2 * m.denominator_variance, linear = a * b - t2 * m.covariance,
               constant = a * a - t2 * m.numerator_variance;
  const double root = std::sqrt(std::max(0.0, linear * linear - square * constant));
  RatioInterval interval;
  if (constant > 0)
    // This form of the smaller root also holds for square = 0.
    interval.low = std::max(0.0, constant / (linear + root));
  if (square > 0) interval.high = std::max(0.0, (linear + root) / square);
  return interval;
}

RatioInterval fieller_of_positive(const MeanPair& m) {
  RatioInterval interval = fieller(m);
  const double half = student_t(kTail, m.degrees) * std::sqrt(m.numerator_variance);
  if (!(m.numerator > 0 && half > 0)) return interval;
  const double stretch = (log_ends(m.numerator, half).high - m.numerator) / half;
  MeanPair above = m;
  above.numerator_variance *= stretch * stretch;
  above.covariance *= stretch;
  interval.high = std::isfinite(stretch) ? fieller(above).high : std::nullopt;
  return interval;
}

}  // namespace kb
