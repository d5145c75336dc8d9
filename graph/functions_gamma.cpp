// log |Gamma(x)| and its derivative as composites in f64: asymptotic series from 8 on, recurrences down to 1/2, and
// reflections below (Abramowitz and Stegun 1964, 6.1.40, 6.3.18; 6.1.15, 6.3.5; 6.1.17, 6.3.7). A branch that is not
// taken gets an argument at which it is finite, since its gradient is multiplied by 0.
#include <cmath>
#include <numbers>

#include "graph/building.h"

namespace kb {
namespace {

constexpr double kFar = 8;  // from here on the series' first term left out is below 1e-15

// Holds the argument of a gamma function in f64.
struct GammaArgument {
  Tensor is_reflected;  // whether x < 1/2
  Tensor z;             // x, or 1 - x: at least 1/2
  Tensor turn;          // x less the nearest integer; 1/2 where there is no reflection

  explicit GammaArgument(Tensor x) {
    x = cast(x, DType::f64);
    is_reflected = x < 0.5;
    z = select(is_reflected, 1.0 - x, x);
    turn = select(is_reflected, x - round(x), 0.5);
  }
  Tensor is_near() const { return z < kFar; }
  Tensor far() const { return select(is_near(), z + kFar, z); }  // where the series is taken
};

// Returns the sum of coefficients[k] x^k.
template <size_t count>
Tensor polynomial(const double (&coefficients)[count], Tensor x) {
  Tensor sum = coefficients[count - 1] * x;
  for (size_t k = count - 2; k > 0; --k) sum = (sum + coefficients[k]) * x;
  return sum + coefficients[0];
}

}  // namespace

Tensor lgamma(Tensor x, Where where) {
  // These are B_2k / (2k (2k - 1)) for k from 1 on, of Bernoulli's numbers.
  constexpr double kSeries[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  const double half_log_two_pi = std::log(2 * std::numbers::pi) / 2;
  const Call call(where);
  require_float("lgamma", x);
  const GammaArgument a(x);
  const Tensor w = a.far(), inverse = 1.0 / w, near = minimum(a.z, kFar);
  Tensor product = near;
  for (int i = 1; i < static_cast<int>(kFar); ++i) product = product * (near + static_cast<double>(i));
  const Tensor series =
      (w - 0.5) * (log(w) - 1.0) + (half_log_two_pi - 0.5) + polynomial(kSeries, inverse * inverse) * inverse;
  const Tensor positive = series - log(select(a.is_near(), product, 1.0));
  const Tensor reflected = log(std::numbers::pi / abs(sin(std::numbers::pi * a.turn))) - positive;
  return cast(select(a.is_reflected, reflected, positive), x.dtype());
}

Tensor digamma(Tensor x, Where where) {
  // These are B_2k / 2k for k from 1 on, of Bernoulli's numbers.
  constexpr double kSeries[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const Call call(where);
  require_float("digamma", x);
  const GammaArgument a(x);
  const Tensor w = a.far(), inverse = 1.0 / w, square = inverse * inverse, near = minimum(a.z, kFar);
  Tensor steps = 1.0 / near;
  for (int i = 1; i < static_cast<int>(kFar); ++i) steps = steps + 1.0 / (near + static_cast<double>(i));
  const Tensor series = log(w) - 0.5 * inverse - polynomial(kSeries, square) * square;
  const Tensor positive = series - select(a.is_near(), steps, 0.0);
  const Tensor angle = std::numbers::pi * a.turn;
  const Tensor reflected = positive - std::numbers::pi * (cos(angle) / sin(angle));
  return cast(select(a.is_reflected, reflected, positive), x.dtype());
}

}  // namespace kb
