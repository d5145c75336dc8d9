// The picture of a run's curves: three charts, one under the other, over one axis of epochs.
#include <fmt/format.h>

#include <algorithm>

#include "recipes/report/curve_points.h"
#include "recipes/report/scatter_chart.h"

namespace kb {
namespace {

constexpr double kCurvesWidth = 860, kCurvesLeft = 74, kCurvesRight = 26, kCurvesTop = 84, kCurvesBelow = 46;
constexpr double kCurvesAcross = kCurvesWidth - kCurvesLeft - kCurvesRight, kChartGap = 50;
constexpr double kLossDown = 300, kGoalDown = 190, kRateDown = 110;
const Svg::Stroke kRawStroke{.color = "#a9cfe6"}, kTrainingStroke{.color = "#0072b2", .width = 2},
    kJudgedStroke{.color = "#d55e00", .width = 1.5}, kAveragedStroke{.color = "#8a4f9e", .width = 1.5, .dashes = "5 3"},
    kRateStroke{.color = "#009e73", .width = 2};
constexpr const char* kTestColor = "#000000";  // colour of the dots of the test part at the end
constexpr size_t kLossColumns = 380;           // columns of the training loss, with two points each
constexpr double kLogarithmicRatio = 100;      // ratio of greatest to least loss above which their axis is logarithmic
constexpr double kGoalRatio = 10;              // such a ratio for the goal
constexpr double kTestRadius = 4;              // radius of these dots in pixels
constexpr double kOutliers = 0.002;  // share of the steps, on either side, whose losses may lie outside the chart

// Returns a title such as
// "valid error, %: 0.97 at the end, 0.93 at best (epoch 4); test 1.02 at the end, 1.01 of the best".
std::string goal_title(const Curve& drawn, const Curve& tested, const GoalCurve& goal) {
  if (drawn.empty()) return goal_label(goal);
  const auto best = std::min_element(drawn.begin(), drawn.end(), [&](const CurvePoint& a, const CurvePoint& b) {
    return goal.higher_is_better ? a.value > b.value : a.value < b.value;
  });
  const auto number = [&](double value) {
    return goal.is_share ? fmt::format("{:.2f}", value) : fmt::format("{:.4g}", value);
  };
  std::string title = fmt::format("{}: {} at the end, {} at best (epoch {:.4g})", goal_label(goal),
                                  number(drawn.back().value), number(best->value), best->epoch);
  if (!tested.empty()) title += fmt::format("; test {} at the end", number(tested.back().value));
  if (tested.size() > 1) title += fmt::format(", {} of the best", number(tested.front().value));
  return title;
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
    for (const Curve* curve :
         {&curves.training_loss, &curves.learning_rate, &curves.judged_loss, &curves.judged_goal, &curves.test_goal})
      if (!curve->empty()) epochs.take(curve->back().epoch);
    return epochs;
  }
  static ChartBox box(double top, double down) { return {kCurvesLeft, top, kCurvesAcross, down}; }

  void draw_losses(Svg& svg, double top) const {
    const Curve mean = smoothed(curves_.training_loss);
    const bool is_smoothed = mean.size() >= kLeastSmoothed;
    CurveRange range = range_of_most(curves_.training_loss, kOutliers);
    for (const Curve* curve : {&mean, &curves_.judged_loss, &curves_.averaged_loss, &curves_.test_loss})
      range.take(*curve);
    CurveChart chart(svg, box(top, kLossDown), values_of_range(range, kLogarithmicRatio), epochs_);
    chart.draw_axes("loss");
    std::vector<ChartEntry> legend = {{"training, each step", is_smoothed ? kRawStroke : kTrainingStroke}};
    chart.line(decimated(curves_.training_loss, kLossColumns), legend[0].stroke);
    if (is_smoothed) {
      chart.line(decimated(mean, kMostCurvePoints / 2), kTrainingStroke);
      legend.push_back({"training, mean over a 100th of the steps", kTrainingStroke});
    }
    const std::string& part = curves_.goal.part;
    chart.evaluations(curves_.judged_loss, kJudgedStroke, part + " loss");
    chart.evaluations(curves_.averaged_loss, kAveragedStroke, part + " loss of averaged parameters");
    chart.dots(curves_.test_loss, kTestColor, kTestRadius, "test loss");
    if (!curves_.judged_loss.empty()) legend.push_back({part, kJudgedStroke});
    if (!curves_.averaged_loss.empty()) legend.push_back({part + ", averaged parameters", kAveragedStroke});
    if (!curves_.test_loss.empty()) legend.push_back({"test", {.color = kTestColor}, ChartMark::dot});
    draw_entries(svg, 24, 54, kCurvesWidth, legend);
  }

  void draw_goal(Svg& svg, double top) const {
    const GoalCurve& goal = curves_.goal;
    const double unit = goal.is_share ? 100 : 1;
    const Curve figure = scaled(curves_.judged_goal, unit), averaged = scaled(curves_.averaged_goal, unit),
                training = scaled(curves_.training_goal, unit), tested = scaled(curves_.test_goal, unit);
    CurveRange range;
    for (const Curve* curve : {&figure, &averaged, &training, &tested}) range.take(*curve);
    CurveChart chart(svg, box(top, kGoalDown), values_of_range(range, kGoalRatio), epochs_);
    chart.draw_axes(goal_title(figure, tested, goal));
    chart.evaluations(training, kTrainingStroke, goal_label(goal, "training"));
    chart.evaluations(figure, kJudgedStroke, goal_label(goal));
    chart.evaluations(averaged, kAveragedStroke,
                      fmt::format("{} {} of averaged parameters{}", goal.part, goal.name, goal.is_share ? ", %" : ""));
    chart.dots(tested, kTestColor, kTestRadius, goal_label(goal, "test"));
  }

  void draw_rate(Svg& svg, double top) const {
    CurveRange range;
    range.take(curves_.learning_rate);
    CurveChart chart(svg, box(top, kRateDown), linear_values(range), epochs_);
    chart.draw_axes("learning rate");
    chart.line(column_ends(curves_.learning_rate, kMostCurvePoints), kRateStroke);
  }

  const RunCurves& curves_;
  const CourseAxis epochs_;
};

}  // namespace

std::string curves_picture(const std::string& title, const RunCurves& curves) {
  return CurvesPicture(curves).str(title);
}

}  // namespace kb
