#include "recipes/report/curve_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "runtime/median.h"

namespace kb {

Curve decimated(const Curve& curve, size_t columns) {
  if (curve.size() <= 2 * columns + 2) return curve;
  const auto below = [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; };
  const auto at = [&](size_t column) {
    return curve.begin() + static_cast<std::ptrdiff_t>(column * curve.size() / columns);
  };
  std::vector<Curve::const_iterator> kept = {curve.begin(), std::prev(curve.end())};
  for (size_t column = 0; column < columns; ++column) {
    const auto [least, greatest] = std::minmax_element(at(column), at(column + 1), below);
    kept.insert(kept.end(), {least, greatest});
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  Curve result;
  for (const auto point : kept) result.push_back(*point);
  return result;
}

Curve smoothed(const Curve& curve) {
  constexpr size_t kShare = 100;  // the window has a hundredth of the points
  const size_t half = curve.size() < kLeastSmoothed ? 0 : curve.size() / kShare / 2;
  std::vector<double> sums = {0};
  for (const CurvePoint& point : curve) sums.push_back(sums.back() + point.value);
  Curve result = curve;
  for (size_t i = 0; i < curve.size(); ++i) {
    const size_t begin = i - std::min(half, i), end = std::min(i + half + 1, curve.size());
    if (half > 0) result[i].value = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
  }
  return result;
}

namespace {

// Returns one point for each of `parts` equal parts of the curve, with the value that `value_of` gives.
template <class ValueOf>
Curve by_parts(const Curve& curve, size_t parts, const ValueOf& value_of) {
  if (curve.size() <= parts) return curve;
  Curve result;
  for (size_t part = 0, begin = 0; part < parts; ++part) {
    const size_t end = (part + 1) * curve.size() / parts;
    result.push_back(curve[end - 1]);
    result.back().value = value_of(std::span(curve).subspan(begin, end - begin));
    begin = end;
  }
  return result;
}

double mean_value(std::span<const CurvePoint> points) {
  double sum = 0;
  for (const CurvePoint& point : points) sum += point.value;
  return sum / static_cast<double>(points.size());
}

double median_value(std::span<const CurvePoint> points) {
  if (points.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values;
  for (const CurvePoint& point : points) values.push_back(point.value);
  return median_of(std::move(values));
}

}  // namespace

Curve averaged(const Curve& curve, size_t parts) { return by_parts(curve, parts, mean_value); }

Curve medians(const Curve& curve, size_t parts) { return by_parts(curve, parts, median_value); }

double median_of_curve(const Curve& curve) { return median_value(curve); }

namespace {

// Returns the curve's value at a step, interpolated linearly, or nothing before the first and after the last point.
std::optional<double> value_at(const Curve& curve, double step) {
  const auto after = std::lower_bound(curve.begin(), curve.end(), step,
                                      [](const CurvePoint& point, double at) { return point.step < at; });
  if (after == curve.end()) return std::nullopt;
  if (after->step == step) return after->value;
  if (after == curve.begin()) return std::nullopt;
  const CurvePoint& before = *std::prev(after);
  return before.value + (after->value - before.value) * (step - before.step) / (after->step - before.step);
}

}  // namespace

CurveBand band_of(std::vector<Curve> curves) {
  std::erase_if(curves, [](const Curve& curve) { return curve.empty(); });
  if (curves.empty()) return {};
  const auto ends_before = [](const Curve& a, const Curve& b) { return a.back().step < b.back().step; };
  CurveBand band{*std::max_element(curves.begin(), curves.end(), ends_before), {}, {}};
  if (curves.size() == 1) return band;
  band.low = band.high = band.mean;
  for (size_t i = 0; i < band.mean.size(); ++i) {
    double sum = 0, least = std::numeric_limits<double>::infinity(), greatest = -least, count = 0;
    for (const Curve& curve : curves) {
      const std::optional<double> value = value_at(curve, band.mean[i].step);
      if (!value) continue;
      sum += *value, ++count;
      least = std::min(least, *value), greatest = std::max(greatest, *value);
    }
    band.mean[i].value = sum / count;
    band.low[i].value = least, band.high[i].value = greatest;
  }
  return band;
}

Curve scaled(Curve curve, double factor) {
  for (CurvePoint& point : curve) point.value *= factor;
  return curve;
}

Curve column_ends(const Curve& curve, size_t columns) {
  const double last = curve.empty() ? 0 : curve.back().epoch;
  if (last <= 0) return decimated(curve, columns / 2);
  const auto column_of = [&](size_t i) { return std::floor(static_cast<double>(columns) * curve[i].epoch / last); };
  Curve ends;
  for (size_t i = 0; i < curve.size(); ++i) {
    if (i > 0 && i + 1 < curve.size() && column_of(i) == column_of(i - 1) && column_of(i) == column_of(i + 1)) continue;
    const size_t count = ends.size();
    if (count >= 2 && ends[count - 1].value == curve[i].value && ends[count - 2].value == curve[i].value)
      ends.back() = curve[i];
    else
      ends.push_back(curve[i]);
  }
  return ends;
}

}  // namespace kb
