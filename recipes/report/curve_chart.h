// A chart of curves over epochs: axes, lines, and dots that tell their values.
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

// Ticks of an axis of epochs that ends with the last one of the curves.
struct EpochAxis {
  explicit EpochAxis(const CurveRange& last_epochs);
  std::vector<double> ticks;
  double last = 1;
};

// At most `most` points of a curve, evenly chosen; the first and the last among them.
Curve thinned(const Curve& curve, size_t most);

constexpr size_t kMostCurvePoints = 400;  // of a line that is drawn
constexpr const char* kQuietColor = "#555";

class CurveChart {
 public:
  struct Box {
    double left, top, across, down;  // pixels
  };
  // The picture and the axis of epochs must outlive it.
  CurveChart(Svg& svg, const Box& box, ValueAxis values, const EpochAxis& epochs)
      : svg_(svg), box_(box), values_(std::move(values)), epochs_(epochs) {}

  void draw_axes(const std::string& title);
  void line(const Curve& curve, const Svg::Stroke& stroke);
  // A line with a dot an evaluation; `what`: of the values, in the dots' tips.
  void evaluations(const Curve& curve, const Svg::Stroke& stroke, const std::string& what);

  double bottom() const { return box_.top + box_.down; }

 private:
  double x(double epoch) const { return box_.left + box_.across * epoch / epochs_.last; }
  double y(double value) const { return box_.top + box_.down * (1 - values_.part(value)); }

  Svg& svg_;
  const Box box_;
  const ValueAxis values_;
  const EpochAxis& epochs_;
};

}  // namespace kb
