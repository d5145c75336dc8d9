#include "graph/portable_math.h"

#include <cmath>
#include <numbers>

namespace kb {

// Writes x as m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)).
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
#pragma GCC unroll 14  // the coefficients are constants then
  for (int k = 27; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return 2 * s * sum + exponent * std::numbers::ln2;
}

// Writes x as n ln 2 + r with |r| <= ln 2 / 2. The upper part of ln 2 ends in zeros, so that its product with n is
// exact.
double portable_exp(double x) {
  constexpr double kUpper = 0x1.62e42feep-1, kLower = 0x1.a39ef35793c76p-33;
  const double n = std::floor(x / std::numbers::ln2 + 0.5);
  const double r = (x - n * kUpper) - n * kLower;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + r / k * sum;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace kb
