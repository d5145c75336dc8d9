// A power law, y = factor x^exponent: a straight line in logarithms.
#pragma once
#include <optional>
#include <span>
#include <utility>

namespace kb {

struct PowerLaw {
  double factor = 0;  // y at x = 1
  double exponent = 0;
  double standard_error = 0;  // standard error of the exponent, from the residuals; 0 if the law meets all points
  double at(double x) const;
};

// Fits the law to points (x, y) by least squares of log y. Returns nothing for fewer than two points, for points of one
// x alone, and if a number is not above 0.
std::optional<PowerLaw> fit_power_law(std::span<const std::pair<double, double>> points);

}  // namespace kb
