// The axes of a chart: the places of values in its box, ticks with their texts, grid lines and titles.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/report/svg.h"

namespace kb {

constexpr const char *kQuietColor = "#555", *kGridColor = "#e4e4e4";

// The place of a chart in a picture, in pixels.
struct ChartBox {
  double left, top, across, down;
  double right() const { return left + across; }
  double bottom() const { return top + down; }
};

// One axis of a chart.
struct ValueAxis {
  double low = 0, high = 1;
  bool is_logarithmic = false;
  std::vector<double> ticks = {};
  double part(double value) const;  // returns 0 at the low end and below, 1 at the high end and above
};

// Titles of two axes. That of y stands at the left end of the picture; an empty one is not drawn.
struct AxisTitles {
  std::string x = "", y = "";
};

// Ticks are lines through the chart, or short ones beside it where cells fill the chart.
enum class ChartTicks : uint8_t { through, beside };

// Both axes of a chart, and where values stand on them.
struct ChartAxes {
  ChartBox box;
  ValueAxis x, y;

  double x_at(double value) const { return box.left + box.across * x.part(value); }
  double y_at(double value) const { return box.bottom() - box.down * y.part(value); }
  // Draws the axes. Ticks of x whose texts would touch have none.
  void draw(Svg& svg, const AxisTitles& titles, ChartTicks ticks = ChartTicks::through) const;
};

}  // namespace kb
