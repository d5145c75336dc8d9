#include "recipes/report/scatter_chart.h"

#include <cmath>

namespace kb {
namespace {

constexpr double kScatterLetters = 12;

void draw_cross(Svg& svg, double x, double y, const std::string& color) {
  constexpr double kHalf = 3.5;
  for (const double sign : {-1.0, 1.0})
    svg.line(x - kHalf, y - sign * kHalf, x + kHalf, y + sign * kHalf, {.color = color, .width = 1.5});
}

}  // namespace

ValueAxis axis_at(const std::vector<double>& values) {
  constexpr double kMargin = 1.3;
  return {values.front() / kMargin, values.back() * kMargin, true, values};
}

void ScatterChart::shade(double from, double to, const std::string& fill, const std::string& label) {
  const double left = axes_.x_at(from), right = axes_.x_at(to);
  svg_.rect(left, axes_.box.top, right - left, axes_.box.down, fill);
  if (text_width(label, kScatterLetters) < right - left)
    svg_.text((left + right) / 2, axes_.box.top - 6, label,
              {.size = kScatterLetters, .anchor = "middle", .color = kQuietColor});
}

void ScatterChart::curve(const std::function<double(double)>& y, const Svg::Stroke& stroke) {
  constexpr int kPieces = 160;
  Svg::Points points;
  for (int i = 0; i <= kPieces; ++i) {
    const double part = static_cast<double>(i) / kPieces;
    const double x = axes_.x.is_logarithmic ? axes_.x.low * std::pow(axes_.x.high / axes_.x.low, part)
                                            : axes_.x.low + part * (axes_.x.high - axes_.x.low);
    const double value = y(x);
    if (value >= axes_.y.low && value <= axes_.y.high) points.emplace_back(axes_.x_at(x), axes_.y_at(value));
  }
  if (points.size() > 1) svg_.lines(points, stroke);
}

void ScatterChart::line(const std::vector<std::pair<double, double>>& values, const Svg::Stroke& stroke) {
  Svg::Points points;
  for (const auto& [x, y] : values) points.emplace_back(axes_.x_at(x), axes_.y_at(y));
  if (points.size() > 1) svg_.lines(points, stroke);
}

void ScatterChart::clipped_line(const std::vector<std::pair<double, double>>& values, const Svg::Stroke& stroke) {
  std::vector<std::pair<double, double>> inside;
  for (const auto& value : values)
    if (value.second >= axes_.y.low && value.second <= axes_.y.high) inside.push_back(value);
  line(inside, stroke);
}

void ScatterChart::whisker(double x, double low, double high, const std::string& color) {
  constexpr double kHalf = 4;
  svg_.line(axes_.x_at(x), axes_.y_at(low), axes_.x_at(x), axes_.y_at(high), {.color = color, .width = 1.5});
  for (const double end : {low, high})
    svg_.line(axes_.x_at(x) - kHalf, axes_.y_at(end), axes_.x_at(x) + kHalf, axes_.y_at(end),
              {.color = color, .width = 1.5});
}

void ScatterChart::dot(double x, double y, const std::string& color, const std::string& tip) {
  svg_.circle(axes_.x_at(x), axes_.y_at(y), 4, color, tip);
}

void ScatterChart::cross(double x, double y, const std::string& color) {
  draw_cross(svg_, axes_.x_at(x), axes_.y_at(y), color);
}

void draw_entries(Svg& svg, double x, double y, double right, const std::vector<ChartEntry>& entries) {
  constexpr double kMark = 22, kToWords = 6, kToNext = 18, kToNextLine = 18;
  const double left = x;
  for (const ChartEntry& entry : entries) {
    const double width = kMark + kToWords + text_width(entry.words, kScatterLetters);
    if (x > left && x + width > right) {
      x = left;
      y += kToNextLine;
    }
    if (entry.mark == ChartMark::line) svg.line(x, y - 4, x + kMark, y - 4, entry.stroke);
    if (entry.mark == ChartMark::dot) svg.circle(x + kMark / 2, y - 4, 4, entry.stroke.color);
    if (entry.mark == ChartMark::cross) draw_cross(svg, x + kMark / 2, y - 4, entry.stroke.color);
    svg.text(x + kMark + kToWords, y, entry.words, {.size = kScatterLetters});
    x += width + kToNext;
  }
}

ScatterFigure::ScatterFigure(const std::string& title, ValueAxis x, ValueAxis y, double top, double height)
    : svg_(kWidth, height), chart(svg_, {66, top, 440, height - top - kBelow}, std::move(x), std::move(y)) {
  svg_.text(16, 24, title, {.size = 15, .bold = true});
}

std::string ScatterFigure::str() {
  draw_entries(svg_, 16, 46, kWidth, legend);
  return svg_.str();
}

}  // namespace kb
