// Draws a chart of measured points, curves through them and shaded ranges; either axis may be logarithmic.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/report/curve_chart.h"
#include "recipes/report/svg.h"

namespace kb {

// Colours that colour-blind people can tell apart (Okabe and Ito 2008).
inline constexpr const char *kFirstColor = "#0072b2", *kSecondColor = "#d55e00", *kThirdColor = "#009e73";

// Returns a logarithmic axis around `values`, which are in ascending order, with a tick at each of them.
ValueAxis axis_at(const std::vector<double>& values);

class ScatterChart {
 public:
  // `svg` must outlive this object.
  ScatterChart(Svg& svg, const ChartBox& box, ValueAxis x, ValueAxis y)
      : svg_(svg), axes_{box, std::move(x), std::move(y)} {}
  const ValueAxis& x() const { return axes_.x; }

  // Shades the range from one x to another, cut at the ends of the axis; its label stands above the chart. Call it
  // before what is drawn on it.
  void shade(double from, double to, const std::string& fill, const std::string& label);
  void draw_axes(const AxisTitles& titles) { axes_.draw(svg_, titles); }

  // Draws a function over the whole of x; leaves out what is outside the axis of y.
  void curve(const std::function<double(double)>& y, const Svg::Stroke& stroke);
  void line(const std::vector<std::pair<double, double>>& values, const Svg::Stroke& stroke);
  void level(double y, const Svg::Stroke& stroke) { line({{axes_.x.low, y}, {axes_.x.high, y}}, stroke); }
  void upright(double x, const Svg::Stroke& stroke) { line({{x, axes_.y.low}, {x, axes_.y.high}}, stroke); }
  // Draws a line; leaves out the points that are outside the axis of y.
  void clipped_line(const std::vector<std::pair<double, double>>& values, const Svg::Stroke& stroke);
  void whisker(double x, double low, double high, const std::string& color);
  void dot(double x, double y, const std::string& color, const std::string& tip);
  void cross(double x, double y, const std::string& color);

 private:
  Svg& svg_;
  const ChartAxes axes_;
};

enum class ChartMark : uint8_t { line, dot, cross };
struct ChartEntry {
  std::string words;
  Svg::Stroke stroke = {};
  ChartMark mark = ChartMark::line;
};
// Draws a legend from `x` on, its first line at `y`; entries that would pass `right` go to the next line.
void draw_entries(Svg& svg, double x, double y, double right, const std::vector<ChartEntry>& entries);

// A picture of one chart, 520 pixels wide, below a title and a legend.
class ScatterFigure {
  static constexpr double kWidth = 520, kBelow = 50;
  Svg svg_;  // declared first, since the chart draws on it

 public:
  // `top`: where the chart begins; a legend of two lines needs 94.
  ScatterFigure(const std::string& title, ValueAxis x, ValueAxis y, double top = 78, double height = 436);
  ScatterChart chart;
  std::vector<ChartEntry> legend = {};
  std::string str();  // draws the legend; call it once
};

}  // namespace kb
