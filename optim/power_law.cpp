#include "optim/power_law.h"

#include <cmath>

namespace kb {

double PowerLaw::at(double x) const { return factor * std::pow(x, exponent); }

std::optional<PowerLaw> fit_power_law(std::span<const std::pair<double, double>> points) {
  const auto count = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, xy = 0, residual = 0;  // means of the logarithms, sums of squares and products
  for (const auto& [a, b] : points) {
    if (!(a > 0 && b > 0)) return std::nullopt;
    x += std::log(a) / count, y += std::log(b) / count;
  }
  for (const auto& [a, b] : points) {
    const double offset = std::log(a) - x;
    xx += offset * offset, xy += offset * (std::log(b) - y);
  }
  if (xx == 0) return std::nullopt;
  PowerLaw law;
  law.exponent = xy / xx;
  law.factor = std::exp(y - law.exponent * x);
  for (const auto& [a, b] : points) residual += std::pow(std::log(b / law.at(a)), 2);
  if (points.size() > 2) law.standard_error = std::sqrt(residual / (count - 2) / xx);
  return law;
}

}  // namespace kb
