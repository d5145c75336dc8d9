// Three charts, one under the other, over one axis of epochs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recipes/report/curve_chart.h"

namespace kb {
namespace {

constexpr double kCurvesWidth = 860, kCurvesLeft = 74, kCurvesRight = 26, kCurvesTop = 84, kCurvesBelow = 46;
constexpr double kCurvesAcross = kCurvesWidth - kCurvesLeft - kCurvesRight, kChartGap = 50;
constexpr double kLossDown = 300, kGoalDown = 190, kRateDown = 110;
const Svg::Stroke kRawStroke{.color = "#a9cfe6"}, kTrainingStroke{.color = "#0072b2", .width = 2},
    kTestStroke{.color = "#d55e00", .width = 1.5}, kAveragedStroke{.color = "#8a4f9e", .width = 1.5, .dashes = "5 3"},
    kRateStroke{.color = "#009e73", .width = 2};
constexpr size_t kLossColumns = 380;       // of the training loss; two points each
constexpr size_t kSmoothingShare = 100;    // the window is this part of the steps
constexpr double kLogarithmicRatio = 100;  // from the least loss to the greatest
constexpr double kGoalRatio = 10;          // likewise of the goal
constexpr double kOutliers = 0.002;        // share of the steps on each side that may leave the chart

// Mean over a window around each point, as much of it as there is.
Curve smoothed(const Curve& curve) {
  const size_t half = curve.size() / kSmoothingShare / 2;
  std::vector<double> sums = {0};
  for (const CurvePoint& point : curve) sums.push_back(sums.back() + point.value);
  Curve result;
  for (size_t i = 0; i < curve.size(); ++i) {
    const size_t begin = i - std::min(half, i), end = std::min(i + half + 1, curve.size());
    result.push_back({curve[i].epoch, (sums[end] - sums[begin]) / static_cast<double>(end - begin)});
  }
  return result;
}

// The least and the greatest value of each column of points, in the order in which they stand.
Curve envelope(const Curve& curve) {
  if (curve.size() <= 2 * kLossColumns) return curve;
  const auto below = [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; };
  Curve result;
  for (size_t column = 0; column < kLossColumns; ++column) {
    const auto begin = curve.begin() + static_cast<std::ptrdiff_t>(column * curve.size() / kLossColumns);
    const auto end = curve.begin() + static_cast<std::ptrdiff_t>((column + 1) * curve.size() / kLossColumns);
    auto [least, greatest] = std::minmax_element(begin, end, below);
    if (greatest < least) std::swap(least, greatest);
    result.insert(result.end(), {*least, *greatest});
  }
  return result;
}

// The first and the last point of each of `columns` equal parts of the epochs, those left out that lie between two
// equal values: a learning rate is flat, but for its drops.
Curve column_ends(const Curve& curve, size_t columns) {
  const double last = curve.empty() ? 0 : curve.back().epoch;
  if (last <= 0) return thinned(curve, columns);
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

// Without the outliers of a curve, which a picture is not to be scaled by.
CurveRange range_of_most(const Curve& curve) {
  std::vector<double> values;
  for (const CurvePoint& point : curve) values.push_back(point.value);
  std::sort(values.begin(), values.end());
  CurveRange range;
  if (values.empty()) return range;
  const auto skipped = static_cast<size_t>(kOutliers * static_cast<double>(values.size()));
  range.take(values[skipped]);
  range.take(values[values.size() - 1 - skipped]);
  return range;
}

// A loss below 0 (a density) has an axis from its least value on.
ValueAxis loss_axis(const CurveRange& range) {
  if (range.is_empty() || range.high <= 0 || range.low < 0) {
    ValueAxis axis = linear_values({0, range.is_empty() ? 1 : range.high - range.low});
    const double shift = range.is_empty() ? 0 : range.low;
    for (double& tick : axis.ticks) tick += shift;
    axis.low += shift;
    axis.high += shift;
    return axis;
  }
  return range.low > 0 && range.high / range.low > kLogarithmicRatio ? logarithmic_values(range) : linear_values(range);
}

struct LegendEntry {
  std::string text;
  Svg::Stroke stroke;
};

void draw_curve_legend(Svg& svg, const std::vector<LegendEntry>& entries) {
  constexpr double kLegendY = 54, kLetterWidth = 6.2;
  double x = 24;
  for (const LegendEntry& entry : entries) {
    svg.line(x, kLegendY - 4, x + 24, kLegendY - 4, entry.stroke);
    svg.text(x + 30, kLegendY, entry.text, {.color = kQuietColor});
    x += 56 + kLetterWidth * static_cast<double>(entry.text.size());
  }
}

Curve as_drawn(Curve curve, const GoalCurve& goal) {
  if (goal.is_share)
    for (CurvePoint& point : curve) point.value *= 100;
  return curve;
}

std::string goal_label(const GoalCurve& goal) {
  return fmt::format("test {}{}", goal.name, goal.is_share ? ", %" : "");
}

// "test error, %: 0.97 at the end, 0.93 at best (epoch 4)".
std::string goal_title(const Curve& drawn, const GoalCurve& goal) {
  if (drawn.empty()) return goal_label(goal);
  const auto best = std::min_element(drawn.begin(), drawn.end(), [&](const CurvePoint& a, const CurvePoint& b) {
    return goal.higher_is_better ? a.value > b.value : a.value < b.value;
  });
  const auto number = [&](double value) {
    return goal.is_share ? fmt::format("{:.2f}", value) : fmt::format("{:.4g}", value);
  };
  return fmt::format("{}: {} at the end, {} at best (epoch {:.4g})", goal_label(goal), number(drawn.back().value),
                     number(best->value), best->epoch);
}

class CurvesPicture {
 public:
  explicit CurvesPicture(const RunCurves& curves) : curves_(curves), epochs_(last_epochs(curves)) {}

  std::string str(const std::string& title) {
    constexpr double kGoalTop = kCurvesTop + kLossDown + kChartGap, kRateTop = kGoalTop + kGoalDown + kChartGap;
    Svg svg(kCurvesWidth, kRateTop + kRateDown + kCurvesBelow);
    svg.text(24, 28, title, {.size = 17, .bold = true});
    draw_losses(svg, kCurvesTop);
    draw_goal(svg, kGoalTop);
    draw_rate(svg, kRateTop);
    svg.text(kCurvesLeft + kCurvesAcross / 2, kRateTop + kRateDown + 36, "epochs",
             {.anchor = "middle", .color = kQuietColor});
    return svg.str();
  }

 private:
  static CurveRange last_epochs(const RunCurves& curves) {
    CurveRange epochs;
    for (const Curve* curve : {&curves.training_loss, &curves.learning_rate, &curves.test_loss, &curves.test_goal})
      if (!curve->empty()) epochs.take(curve->back().epoch);
    return epochs;
  }
  static CurveChart::Box box(double top, double down) { return {kCurvesLeft, top, kCurvesAcross, down}; }

  void draw_losses(Svg& svg, double top) const {
    const Curve mean = smoothed(curves_.training_loss);
    const bool is_smoothed = mean.size() >= 2 * kSmoothingShare;  // else the window is one step
    CurveRange range = range_of_most(curves_.training_loss);
    for (const Curve* curve : {&mean, &curves_.test_loss, &curves_.averaged_loss}) range.take(*curve);
    CurveChart chart(svg, box(top, kLossDown), loss_axis(range), epochs_);
    chart.draw_axes("loss");
    std::vector<LegendEntry> legend = {{"training, each step", is_smoothed ? kRawStroke : kTrainingStroke}};
    chart.line(envelope(curves_.training_loss), legend[0].stroke);
    if (is_smoothed) {
      chart.line(thinned(mean, kMostCurvePoints), kTrainingStroke);
      legend.push_back({"training, mean over a 100th of the steps", kTrainingStroke});
    }
    chart.evaluations(curves_.test_loss, kTestStroke, "test loss");
    chart.evaluations(curves_.averaged_loss, kAveragedStroke, "test loss of averaged parameters");
    if (!curves_.test_loss.empty()) legend.push_back({"test", kTestStroke});
    if (!curves_.averaged_loss.empty()) legend.push_back({"test, averaged parameters", kAveragedStroke});
    draw_curve_legend(svg, legend);
  }

  void draw_goal(Svg& svg, double top) const {
    const GoalCurve& goal = curves_.goal;
    const Curve figure = as_drawn(curves_.test_goal, goal), averaged = as_drawn(curves_.averaged_goal, goal),
                training = as_drawn(curves_.training_goal, goal);
    CurveRange range;
    for (const Curve* curve : {&figure, &averaged, &training}) range.take(*curve);
    const bool spans = range.low > 0 && range.high / range.low > kGoalRatio;
    CurveChart chart(svg, box(top, kGoalDown), spans ? logarithmic_values(range) : linear_values(range), epochs_);
    chart.draw_axes(goal_title(figure, goal));
    chart.evaluations(training, kTrainingStroke, fmt::format("training {}{}", goal.name, goal.is_share ? ", %" : ""));
    chart.evaluations(figure, kTestStroke, goal_label(goal));
    chart.evaluations(averaged, kAveragedStroke,
                      fmt::format("test {} of averaged parameters{}", goal.name, goal.is_share ? ", %" : ""));
  }

  void draw_rate(Svg& svg, double top) const {
    CurveRange range;
    range.take(curves_.learning_rate);
    CurveChart chart(svg, box(top, kRateDown), linear_values(range), epochs_);
    chart.draw_axes("learning rate");
    chart.line(column_ends(curves_.learning_rate, kMostCurvePoints), kRateStroke);
  }

  const RunCurves& curves_;
  const EpochAxis epochs_;
};

}  // namespace

std::string curves_picture(const std::string& title, const RunCurves& curves) {
  return CurvesPicture(curves).str(title);
}

}  // namespace kb
