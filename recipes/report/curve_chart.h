// A chart of curves over epochs or steps: axes, lines, and dots with tooltips that say their values.
#pragma once
#include <limits>
#include <string>

#include "recipes/report/chart_axes.h"
#include "recipes/report/curves.h"
#include "recipes/report/svg.h"

namespace kb {

// The least and the greatest of the values taken.
struct CurveRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool is_empty() const { return !(low <= high); }
  void take(double value);
  void take(const Curve& curve);
};

// Returns the range of a curve without the outliers that would spoil the scale of a picture: the share `outliers` of
// its points is left out on each side.
CurveRange range_of_most(const Curve& curve, double outliers);

// Returns an axis from 0 to at least the range's high end.
ValueAxis linear_values(const CurveRange& range);
// Returns an axis with ticks at 1, 2 and 5 times the powers of ten, or at the powers alone if it spans many decades.
ValueAxis logarithmic_values(const CurveRange& range);
// Returns a logarithmic axis if the greatest value is more than `ratio` times the least and both are positive; a linear
// axis from the least value on if that is below 0 (the loss of a density) or no value is positive; else one from 0 on.
ValueAxis values_of_range(const CurveRange& range, double ratio);

// The horizontal axis of a chart, in epochs or in steps. It ends at the last point of the curves.
struct CourseAxis {
  explicit CourseAxis(const CurveRange& last_points, double CurvePoint::*place = &CurvePoint::epoch);
  double CurvePoint::*at;  // member with the place of a point: CurvePoint::epoch or CurvePoint::step
  ValueAxis places;
};

// Returns the stroke of the run or configuration of this number, from 0 on: ten colours with a solid line, then the ten
// with each of four kinds of dashes; the fifty strokes then repeat.
Svg::Stroke numbered_stroke(size_t number);

constexpr size_t kMostCurvePoints = 400;  // greatest number of points of a drawn line

// Draws one chart into a picture.
class CurveChart {
 public:
  // `svg` must outlive the chart.
  CurveChart(Svg& svg, const ChartBox& box, ValueAxis values, const CourseAxis& course)
      : svg_(svg), axes_{box, course.places, std::move(values)}, at_(course.at) {}

  void draw_axes(const std::string& title);
  void line(const Curve& curve, const Svg::Stroke& stroke);
  // Shades the area between two curves whose points have the same places.
  void band(const Curve& low, const Curve& high, const std::string& color);
  // Draws a line with a dot per evaluation if there are few; `what` names the values in the tooltips of the dots.
  void evaluations(const Curve& curve, const Svg::Stroke& stroke, const std::string& what);
  // Draws a dot of `radius` pixels per point, without a line; `what` as for evaluations().
  void dots(const Curve& curve, const std::string& color, double radius, const std::string& what);

 private:
  Svg& svg_;
  const ChartAxes axes_;
  double CurvePoint::*const at_;
};

}  // namespace kb
