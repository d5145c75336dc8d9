#include "recipes/report/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kb {
namespace {

constexpr const char* kGridColor = "#e4e4e4";
constexpr size_t kMostDots = 100;      // more evaluations are a line alone
constexpr double kLeastDrawn = 1e-40;  // on a logarithmic axis

}  // namespace

void CurveRange::take(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

void CurveRange::take(const Curve& curve) {
  for (const CurvePoint& point : curve) take(point.value);
}

double ValueAxis::part(double value) const {
  const double at =
      is_logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

ValueAxis linear_values(const CurveRange& range) {
  ValueAxis axis;
  axis.ticks = round_ticks(range.is_empty() ? 1 : std::max(range.high, 0.0));
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

ValueAxis logarithmic_values(const CurveRange& range) {
  ValueAxis axis{std::max(range.low, kLeastDrawn) / 1.1, std::max(range.high, kLeastDrawn) * 1.1, true};
  const bool is_wide = axis.high / axis.low > 1e4;
  for (double decade = std::pow(10, std::floor(std::log10(axis.low))); decade <= axis.high; decade *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if ((factor == 1 || !is_wide) && factor * decade >= axis.low && factor * decade <= axis.high)
        axis.ticks.push_back(factor * decade);
  return axis;
}

EpochAxis::EpochAxis(const CurveRange& last_epochs)
    : ticks(round_ticks(last_epochs.is_empty() ? 1 : last_epochs.high)),
      last(last_epochs.is_empty() || last_epochs.high < 1e-9 ? ticks.back() : last_epochs.high) {
  while (ticks.back() > last * (1 + 1e-9)) ticks.pop_back();
}

Curve thinned(const Curve& curve, size_t most) {
  if (curve.size() <= most) return curve;
  Curve result;
  for (size_t i = 0; i < most; ++i) result.push_back(curve[i * (curve.size() - 1) / (most - 1)]);
  return result;
}

void CurveChart::draw_axes(const std::string& title) {
  svg_.text(box_.left, box_.top - 12, title, {.size = 13, .bold = true});
  for (const double epoch : epochs_.ticks) svg_.line(x(epoch), box_.top, x(epoch), bottom(), {.color = kGridColor});
  for (const double tick : values_.ticks) {
    svg_.line(box_.left, y(tick), box_.left + box_.across, y(tick), {.color = kGridColor});
    svg_.text(box_.left - 8, y(tick) + 4, fmt::format("{:.4g}", tick),
              {.size = 11, .anchor = "end", .color = kQuietColor});
  }
  for (const double epoch : epochs_.ticks)
    svg_.text(x(epoch), bottom() + 16, fmt::format("{:.4g}", epoch),
              {.size = 11, .anchor = "middle", .color = kQuietColor});
  svg_.line(box_.left, bottom(), box_.left + box_.across, bottom(), {});
  svg_.line(box_.left, box_.top, box_.left, bottom(), {});
}

void CurveChart::line(const Curve& curve, const Svg::Stroke& stroke) {
  Svg::Points points;
  for (const CurvePoint& point : curve) points.emplace_back(x(point.epoch), y(point.value));
  if (points.size() > 1) svg_.lines(points, stroke);
}

void CurveChart::evaluations(const Curve& curve, const Svg::Stroke& stroke, const std::string& what) {
  line(thinned(curve, kMostCurvePoints), stroke);
  if (curve.size() > kMostDots) return;
  for (const CurvePoint& point : curve)
    svg_.circle(x(point.epoch), y(point.value), 2.5, stroke.color,
                fmt::format("epoch {:.4g}: {} {:.4g}", point.epoch, what, point.value));
}

}  // namespace kb
