#include "recipes/report/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "recipes/report/curve_chart.h"
#include "recipes/report/curve_points.h"

namespace kb {
namespace {

// Pixels; small, so that letters can be read where the page is as wide as a phone.
constexpr double kRunsWidth = 440, kRunsHeight = 280, kRunsLeft = 54, kRunsRight = 14, kRunsTop = 34, kRunsBelow = 40;
constexpr size_t kFewRuns = 10;  // whose evaluations have dots
constexpr double kAlwaysLinear = std::numeric_limits<double>::infinity();

// A chart before it is drawn.
struct RunsPlot {
  std::string title = {};
  double logarithmic_ratio = kAlwaysLinear;  // see values_of_range
  double outliers = 0;                       // share of a curve's points that may leave the chart on either side
  double least_share = 0;                    // of the least of the runs' greatest values, below which no axis begins
  bool holds_all = false;                    // runs far above the others, too
  bool has_dots = false;                     // a dot an evaluation, where runs are few
  std::vector<Curve> curves = {};            // of every run; empty where it has none
};

CurveRange range_of(const RunsPlot& plot) {
  CurveRange range;
  std::vector<double> greatest;
  for (const Curve& curve : plot.curves) {
    const CurveRange own = range_of_most(curve, plot.outliers);
    if (own.is_empty()) continue;
    range.take(own.low);
    range.take(own.high);
    greatest.push_back(own.high);
  }
  if (greatest.empty()) return range;
  std::sort(greatest.begin(), greatest.end());
  range.low = std::max(range.low, plot.least_share * greatest.front());
  const double middle = greatest[(greatest.size() - 1) / 2];
  if (plot.holds_all || middle <= 0) return range;
  range.high = *std::prev(std::upper_bound(greatest.begin(), greatest.end(), kFarRatio * middle));
  return range;
}

std::string drawn(const RunsPlot& plot, const std::vector<ChartedRun>& runs, double CurvePoint::*place,
                  const char* axis) {
  CurveRange ends;
  for (const Curve& curve : plot.curves)
    if (!curve.empty()) ends.take(curve.back().*place);
  const CourseAxis course(ends, place);
  Svg svg(kRunsWidth, kRunsHeight);
  const double down = kRunsHeight - kRunsTop - kRunsBelow, across = kRunsWidth - kRunsLeft - kRunsRight;
  CurveChart chart(svg, {kRunsLeft, kRunsTop, across, down}, values_of_range(range_of(plot), plot.logarithmic_ratio),
                   course);
  chart.draw_axes(plot.title);
  svg.text(kRunsWidth - kRunsRight, kRunsHeight - 6, axis, {.anchor = "end", .color = kQuietColor});
  for (size_t i = 0; i < runs.size(); ++i) {
    const Curve& curve = plot.curves[i];
    if (curve.empty()) continue;
    svg.begin_group(fmt::format("class=\"run\" data-run=\"{}\"", i), runs[i].name);
    if (plot.has_dots && (runs.size() <= kFewRuns || curve.size() == 1))
      chart.evaluations(curve, numbered_stroke(i), runs[i].name + ": " + plot.title);
    else
      chart.line(decimated(curve, kChartColumns), numbered_stroke(i));
    svg.end_group();
  }
  return svg.str();
}

bool is_blank(const RunsPlot& plot) {
  return std::all_of(plot.curves.begin(), plot.curves.end(), [](const Curve& curve) { return curve.empty(); });
}

// A plot for each title that `title_of` gives to a run, in the order in which they come.
template <class TitleOf, class CurveOf>
std::vector<RunsPlot> plots_of(const std::vector<ChartedRun>& runs, const RunsPlot& kind, TitleOf title_of,
                               CurveOf curve_of) {
  std::vector<RunsPlot> plots;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string title = title_of(runs[i]);
    auto plot = std::find_if(plots.begin(), plots.end(), [&](const RunsPlot& p) { return p.title == title; });
    if (plot == plots.end()) {
      plot = plots.insert(plots.end(), kind);
      plot->title = title;
      plot->curves.resize(runs.size());
    }
    plot->curves[i] = curve_of(runs[i].curves);
  }
  return plots;
}

}  // namespace

std::vector<RunChart> run_charts(const std::vector<ChartedRun>& runs) {
  constexpr double kLossDecades = 100, kGoalDecade = 10, kRateShare = 0.01;
  const auto always = [](const char* title) { return [title](const ChartedRun&) { return std::string(title); }; };
  std::vector<RunsPlot> plots;
  const auto add = [&](const RunsPlot& kind, const auto& title_of, const auto& curve_of) {
    for (RunsPlot& plot : plots_of(runs, kind, title_of, curve_of)) plots.push_back(std::move(plot));
  };
  add(
      {.logarithmic_ratio = kGoalDecade, .has_dots = true},
      [](const ChartedRun& run) { return goal_label(run.curves.goal, run.part); },
      [](const RunCurves& curves) { return scaled(curves.test_goal, curves.goal.is_share ? 100 : 1); });
  add({.logarithmic_ratio = kLossDecades, .outliers = 0.002}, always("training loss"),
      [](const RunCurves& curves) { return smoothed(curves.training_loss); });
  add(
      {.logarithmic_ratio = kLossDecades, .has_dots = true}, [](const ChartedRun& run) { return run.part + " loss"; },
      [](const RunCurves& curves) { return curves.test_loss; });
  // Logarithmic where the greatest rates of two runs differ by more than a factor of ten.
  add({.logarithmic_ratio = 10 / kRateShare, .least_share = kRateShare, .holds_all = true}, always("learning rate"),
      [](const RunCurves& curves) { return column_ends(curves.learning_rate, 200); });
  add({.outliers = 0.02}, always("samples/s"), [](const RunCurves& curves) { return smoothed(curves.samples_per_s); });
  add({.outliers = 0.02}, always("wait for data, ms a step"),
      [](const RunCurves& curves) { return smoothed(curves.data_wait_ms); });
  std::vector<RunChart> charts;
  for (const RunsPlot& plot : plots)
    if (!is_blank(plot))
      charts.push_back(
          {drawn(plot, runs, &CurvePoint::epoch, "epochs"), drawn(plot, runs, &CurvePoint::step, "steps")});
  return charts;
}

}  // namespace kb
