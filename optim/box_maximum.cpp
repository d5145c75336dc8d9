#include "optim/box_maximum.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace kb {
namespace {

using Column = Eigen::VectorXd;
using ColumnView = Eigen::Map<const Column>;

// Algorithm 2.2's gamma, the share of the first-order gain that a step has to reach.
constexpr double kGainShare = 1e-4;
// A step is halved at most so often, to a millionth.
constexpr int kMostHalvings = 20;

struct Point {
  Column x, gradient;
  double value = 0;
};

// The box, and the function in it.
class Search {
 public:
  Search(const DifferentiableFunction& function, ColumnView centre, ColumnView half_widths)
      : function_(function), low_(centre - half_widths), high_(centre + half_widths) {}

  Point at(const Column& x) {
    ++evaluations;
    const ValueAndGradient found = function_({x.data(), x.data() + x.size()});
    return {x, ColumnView(found.gradient.data(), std::ssize(found.gradient)), found.value};
  }

  // Returns the way from `from` to the projection on the box of a step along the gradient; an infinite step ends in a
  // corner.
  Column way(const Point& from, double step) const {
    Column to(from.x.size());
    for (Eigen::Index i = 0; i < to.size(); ++i) {
      const double slope = from.gradient[i];
      to[i] = slope == 0 ? from.x[i] : std::clamp(from.x[i] + step * slope, low_[i], high_[i]);
    }
    return to - from.x;
  }

  // Returns a point on the way that is higher by a share of the first-order gain, unless none is found.
  std::optional<Point> climb(const Point& from, const Column& way) {
    double share = 1;
    for (int halving = 0; halving <= kMostHalvings; ++halving, share /= 2) {
      Point to = at((from.x + share * way).cwiseMax(low_).cwiseMin(high_));
      const double gain = to.value - from.value;
      if (std::isfinite(to.value) && gain > 0 && gain >= kGainShare * share * from.gradient.dot(way)) return to;
    }
    return std::nullopt;
  }

  int64_t evaluations = 0;

 private:
  const DifferentiableFunction& function_;
  const Column low_, high_;
};

// Returns Barzilai and Borwein's step for the way from one point to the next. Where the function is convex along that
// way it rises ever more steeply, so that the step is infinite.
double spectral_step(const Point& from, const Point& to) {
  const Column way = to.x - from.x;
  const double bent = way.dot(from.gradient - to.gradient);
  return bent > 0 ? way.squaredNorm() / bent : std::numeric_limits<double>::infinity();
}

}  // namespace

BoxMaximum maximise_in_box(const DifferentiableFunction& function, const std::vector<double>& centre,
                           std::span<const double> half_widths, int64_t most_iterations) {
  if (centre.size() != half_widths.size()) throw std::invalid_argument("maximise_in_box: a box of another dimension");
  Search search(function, ColumnView(centre.data(), std::ssize(centre)),
                ColumnView(half_widths.data(), std::ssize(half_widths)));
  Point best = search.at(ColumnView(centre.data(), std::ssize(centre)));
  if (best.gradient.size() != best.x.size()) throw std::invalid_argument("maximise_in_box: a gradient of another one");
  if (!std::isfinite(best.value) || !best.gradient.allFinite())
    throw std::domain_error("maximise_in_box: neither value nor gradient may be infinite at the centre");
  BoxMaximum found;
  found.start = best.value;
  double step = std::numeric_limits<double>::infinity();
  while (found.iterations < most_iterations) {
    const Column way = search.way(best, step);
    found.is_stationary = way.isZero(0);
    if (found.is_stationary) break;
    std::optional<Point> next = search.climb(best, way);
    if (!next) break;
    step = spectral_step(best, *next);
    best = std::move(*next);
    ++found.iterations;
  }
  found.value = best.value;
  found.point.assign(best.x.begin(), best.x.end());
  found.evaluations = search.evaluations;
  return found;
}

}  // namespace kb
