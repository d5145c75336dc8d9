// The maximum of a function in a box around a point, as the sharpness of a loss asks for it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace kb {

struct ValueAndGradient {
  double value = 0;
  std::vector<double> gradient;
};
using DifferentiableFunction = std::function<ValueAndGradient(const std::vector<double>&)>;

struct BoxMaximum {
  std::vector<double> point;
  double start = 0;  ///< the value at the centre
  double value = 0;  ///< the greatest that was found; at least `start`
  int64_t iterations = 0, evaluations = 0;
  bool is_stationary = false;  ///< whether no direction into the box leads upwards to first order from `point`
};

/// Maximises `function` over the points within `half_widths` of `centre` in each coordinate, by spectral projected
/// gradients (Birgin, Martinez and Raydan 2000, SIAM J. Optim. 10(4), algorithm 2.2, with M = 1: each iteration goes
/// upwards). The first trial point, and each after a step along which the function is convex, is a corner of the box. A
/// value that is not finite counts as too low. Throws std::invalid_argument for vectors of different dimensions, and
/// std::domain_error if value or gradient at the centre are not finite.
BoxMaximum maximise_in_box(const DifferentiableFunction& function, const std::vector<double>& centre,
                           std::span<const double> half_widths, int64_t most_iterations);

}  // namespace kb
