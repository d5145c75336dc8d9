// A chart of measured points, curves through them and shaded ranges, over axes of which either may be logarithmic.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/report/curve_chart.h"
#include "recipes/report/svg.h"

namespace kb {

// Colours that the colour-blind tell apart (Okabe and Ito 2008).
inline constexpr const char *kFirstColor = "#0072b2", *kSecondColor = "#d55e00", *kThirdColor = "#009e73";

// A logarithmic axis around `values`, which ascend, with a tick at each of them.
ValueAxis axis_at(const std::vector<double>& values);

class ScatterChart {
 public:
  struct Box {
    double left, top, across, down;  // pixels
  };
  struct Titles {
    std::string x, y;
  };
  // The picture must outlive it.
  ScatterChart(Svg& svg, const Box& box, ValueAxis x, ValueAxis y)
      : svg_(svg), box_(box), x_axis_(std::move(x)), y_axis_(std::move(y)) {}

  // From one x to another, the ends of the axis where they lie beyond it; its label stands above the chart. First.
  void shade(double from, double to, const std::string& fill, const std::string& label);
  // Ticks of x whose labels would touch have none.
  void draw_axes(const Titles& titles);

  // Over the whole of x; left out where it is outside the axis of y.
  void curve(const std::function<double(double)>& y, const Svg::Stroke& stroke);
  void line(const std::vector<std::pair<double, double>>& values, const Svg::Stroke& stroke);
  // Left out where it is outside the axis of y.
  void clipped_line(const std::vector<std::pair<double, double>>& values, const Svg::Stroke& stroke);
  void whisker(double x, double low, double high, const std::string& color);
  void dot(double x, double y, const std::string& color, const std::string& tip);
  void cross(double x, double y, const std::string& color);

 private:
  double x_at(double value) const { return box_.left + box_.across * x_axis_.part(value); }
  double y_at(double value) const { return box_.top + box_.down * (1 - y_axis_.part(value)); }
  double bottom() const { return box_.top + box_.down; }
  void draw_x_ticks();

  Svg& svg_;
  const Box box_;
  const ValueAxis x_axis_, y_axis_;
};

enum class ChartMark : uint8_t { line, dot, cross };
struct ChartEntry {
  std::string words;
  Svg::Stroke stroke = {};
  ChartMark mark = ChartMark::line;
};
// From x on, the first line of them at y, each line as long as `right` allows.
void draw_entries(Svg& svg, double x, double y, double right, const std::vector<ChartEntry>& entries);

}  // namespace kb
