#include "recipes/report/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recipes/report/curve_points.h"

namespace kb {
namespace {

constexpr size_t kMostDots = 100;      // evaluations up to which a line has a dot for each
constexpr double kLeastDrawn = 1e-40;  // smallest value on a logarithmic axis

// Colour-blind people can tell the first eight of these colours apart (Okabe and Ito 2008).
constexpr const char* kNumberedColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                           "#56b4e9", "#000000", "#8a4f9e", "#7f7f7f", "#a0522d"};
constexpr const char* kNumberedDashes[] = {"", "5 3", "2 2", "9 3 2 3", "14 4"};

}  // namespace

void CurveRange::take(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

void CurveRange::take(const Curve& curve) {
  for (const CurvePoint& point : curve) take(point.value);
}

CurveRange range_of_most(const Curve& curve, double outliers) {
  std::vector<double> values;
  for (const CurvePoint& point : curve) values.push_back(point.value);
  std::sort(values.begin(), values.end());
  CurveRange range;
  if (values.empty()) return range;
  const auto skipped = static_cast<size_t>(outliers * static_cast<double>(values.size()));
  range.take(values[skipped]);
  range.take(values[values.size() - 1 - skipped]);
  return range;
}

ValueAxis linear_values(const CurveRange& range) {
  ValueAxis axis;
  axis.ticks = round_ticks(range.is_empty() ? 1 : std::max(range.high, 0.0));
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

ValueAxis logarithmic_values(const CurveRange& range) {
  if (range.is_empty()) return logarithmic_values({1, 1});
  ValueAxis axis{std::max(range.low, kLeastDrawn) / 1.1, std::max(range.high, kLeastDrawn) * 1.1, true};
  const bool is_wide = axis.high / axis.low > 1e4;
  for (double decade = std::pow(10, std::floor(std::log10(axis.low))); decade <= axis.high; decade *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if ((factor == 1 || !is_wide) && factor * decade >= axis.low && factor * decade <= axis.high)
        axis.ticks.push_back(factor * decade);
  return axis;
}

ValueAxis values_of_range(const CurveRange& range, double ratio) {
  if (range.low > 0 && range.high / range.low > ratio) return logarithmic_values(range);
  if (range.is_empty() || (range.low >= 0 && range.high > 0)) return linear_values(range);
  constexpr double kLeastWide = 1e-6;  // share of the least value; a narrower axis has no digits for its places
  ValueAxis axis = linear_values({0, std::max(range.high - range.low, kLeastWide * std::abs(range.low))});
  for (double& tick : axis.ticks) tick += range.low;
  axis.low += range.low;
  axis.high += range.low;
  return axis;
}

CourseAxis::CourseAxis(const CurveRange& last_points, double CurvePoint::*place) : at(place) {
  places.ticks = round_ticks(last_points.is_empty() ? 1 : last_points.high);
  places.high = last_points.is_empty() || last_points.high < 1e-9 ? places.ticks.back() : last_points.high;
  while (places.ticks.back() > places.high * (1 + 1e-9)) places.ticks.pop_back();
}

Svg::Stroke numbered_stroke(size_t number) {
  const size_t colors = std::size(kNumberedColors);
  return {.color = kNumberedColors[number % colors],
          .width = 1.5,
          .dashes = kNumberedDashes[number / colors % std::size(kNumberedDashes)]};
}

void CurveChart::draw_axes(const std::string& title) {
  svg_.text(axes_.box.left, axes_.box.top - 12, title, {.size = 13, .bold = true});
  axes_.draw(svg_, {});
}

void CurveChart::line(const Curve& curve, const Svg::Stroke& stroke) {
  Svg::Points points;
  for (const CurvePoint& point : curve)
    if (std::isfinite(point.*at_)) points.emplace_back(axes_.x_at(point.*at_), axes_.y_at(point.value));
  if (points.size() > 1) svg_.lines(points, stroke);
}

void CurveChart::band(const Curve& low, const Curve& high, const std::string& color) {
  constexpr double kOpacity = 0.18;
  Svg::Points corners;
  const auto add = [&](const CurvePoint& point) {
    if (std::isfinite(point.*at_)) corners.emplace_back(axes_.x_at(point.*at_), axes_.y_at(point.value));
  };
  std::for_each(low.begin(), low.end(), add);
  std::for_each(high.rbegin(), high.rend(), add);
  if (corners.size() > 2) svg_.area(corners, color, kOpacity);
}

void CurveChart::evaluations(const Curve& curve, const Svg::Stroke& stroke, const std::string& what) {
  constexpr double kRadius = 2.5;
  line(decimated(curve, kMostCurvePoints / 2), stroke);
  if (curve.size() <= kMostDots) dots(curve, stroke.color, kRadius, what);
}

void CurveChart::dots(const Curve& curve, const std::string& color, double radius, const std::string& what) {
  for (const CurvePoint& point : curve)
    if (std::isfinite(point.*at_))
      svg_.circle(axes_.x_at(point.*at_), axes_.y_at(point.value), radius, color,
                  fmt::format("epoch {:.4g}: {} {:.4g}", point.epoch, what, point.value));
}

}  // namespace kb
