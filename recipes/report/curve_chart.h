// A chart of curves over epochs or steps: axes, lines, and dots that tell their values.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "recipes/report/curves.h"
#include "recipes/report/svg.h"

namespace kb {

struct CurveRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool is_empty() const { return !(low <= high); }
  void take(double value);
  void take(const Curve& curve);
};

// Without the outliers of a curve, which a picture is not to be scaled by: this share of its points on each side.
CurveRange range_of_most(const Curve& curve, double outliers);

struct ValueAxis {
  double low = 0, high = 1;
  bool is_logarithmic = false;
  std::vector<double> ticks = {};
  double part(double value) const;  // 0 at the low end, 1 at the high one, and beyond them
};

// From 0 to at least the range's high end.
ValueAxis linear_values(const CurveRange& range);
// Ticks at 1, 2 and 5 times the powers of ten; at the powers alone over many decades.
ValueAxis logarithmic_values(const CurveRange& range);
// Logarithmic where the greatest value is more than `ratio` times the least; from the least value on where one is below
// 0 (the loss of a density); else from 0 on.
ValueAxis values_of_range(const CurveRange& range, double ratio);

// Ticks of the axis across, which ends with the last point of the curves: in epochs, or in steps.
struct CourseAxis {
  explicit CourseAxis(const CurveRange& last_points, double CurvePoint::*place = &CurvePoint::epoch);
  double CurvePoint::*at;
  std::vector<double> ticks;
  double last = 1;
};

// The stroke of the run or the configuration of this number, from 0: ten colours, then the same ones dashed, and so on
// in five ways.
Svg::Stroke numbered_stroke(size_t number);

constexpr size_t kMostCurvePoints = 400;  // of a line that is drawn
constexpr const char *kQuietColor = "#555", *kGridColor = "#e4e4e4";

class CurveChart {
 public:
  struct Box {
    double left, top, across, down;  // pixels
  };
  // The picture and the axis across must outlive it.
  CurveChart(Svg& svg, const Box& box, ValueAxis values, const CourseAxis& course)
      : svg_(svg), box_(box), values_(std::move(values)), course_(course) {}

  void draw_axes(const std::string& title);
  void line(const Curve& curve, const Svg::Stroke& stroke);
  // The area between two curves with the same places.
  void band(const Curve& low, const Curve& high, const std::string& color);
  // A line with a dot an evaluation; `what`: of the values, in the dots' tips.
  void evaluations(const Curve& curve, const Svg::Stroke& stroke, const std::string& what);
  // The dots alone, of this radius.
  void dots(const Curve& curve, const std::string& color, double radius, const std::string& what);

  double bottom() const { return box_.top + box_.down; }

 private:
  double x(double place) const { return box_.left + box_.across * place / course_.last; }
  double y(double value) const { return box_.top + box_.down * (1 - values_.part(value)); }

  Svg& svg_;
  const Box box_;
  const ValueAxis values_;
  const CourseAxis& course_;
};

}  // namespace kb
