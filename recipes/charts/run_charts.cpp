#include "recipes/charts/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "recipes/report/curve_chart.h"
#include "recipes/report/curve_points.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

// Sizes in pixels: small, so that letters can be read if the page is as wide as a phone.
constexpr double kRunsWidth = 440, kRunsHeight = 280, kRunsLeft = 54, kRunsRight = 14, kRunsTop = 34, kRunsBelow = 40;
constexpr double kAlwaysLinear = std::numeric_limits<double>::infinity();

// A chart before it is drawn.
struct RunsPlot {
  std::string title = {};
  double logarithmic_ratio = kAlwaysLinear;  // least ratio of the values for a logarithmic axis (values_of_range)
  double outliers = 0;                       // share of a curve's points that may leave the chart on either side
  double least_share = 0;              // no axis begins below this share of the least of the lines' greatest values
  bool holds_all = false;              // true: holds lines far above the others as well
  bool has_dots = false;               // true: draws a dot for each evaluation if lines are few
  bool is_spread = false;              // true: draws a row for each line if they are many (SpreadChart)
  std::vector<CurveBand> curves = {};  // one for each line; empty if it has none
};

CurveRange range_of(const RunsPlot& plot) {
  CurveRange range;
  std::vector<double> greatest;
  for (const CurveBand& band : plot.curves) {
    CurveRange own = range_of_most(band.mean, plot.outliers);
    own.take(band.low);
    own.take(band.high);
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

std::string drawn(const RunsPlot& plot, const std::vector<ChartedLine>& lines, double CurvePoint::*place,
                  const char* axis) {
  CurveRange ends;
  for (const CurveBand& band : plot.curves)
    if (!band.mean.empty()) ends.take(band.mean.back().*place);
  const CourseAxis course(ends, place);
  Svg svg(kRunsWidth, kRunsHeight);
  const double down = kRunsHeight - kRunsTop - kRunsBelow, across = kRunsWidth - kRunsLeft - kRunsRight;
  CurveChart chart(svg, {kRunsLeft, kRunsTop, across, down}, values_of_range(range_of(plot), plot.logarithmic_ratio),
                   course);
  chart.draw_axes(plot.title);
  svg.text(kRunsWidth - kRunsRight, kRunsHeight - 6, axis, {.anchor = "end", .color = kQuietColor});
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& [curve, low, high] = plot.curves[i];
    if (curve.empty()) continue;
    svg.begin_group(fmt::format("class=\"run\" data-run=\"{}\"", i), lines[i].name);
    chart.band(averaged(low, kChartColumns), averaged(high, kChartColumns), numbered_stroke(i).color);
    if (plot.has_dots && (lines.size() <= kFewRuns || curve.size() == 1))
      chart.evaluations(curve, numbered_stroke(i), lines[i].name + ": " + plot.title);
    else
      chart.line(decimated(curve, kChartColumns), numbered_stroke(i));
    svg.end_group();
  }
  return svg.str();
}

// A chart with a named row for each line: a stroke over nine tenths of the values, and a dot at the median. It grows
// with the number of lines.
class SpreadChart {
 public:
  SpreadChart(const RunsPlot& plot, const std::vector<ChartedLine>& lines)
      : plot_(plot),
        lines_(lines),
        row_(std::max(kLeastRow, (kRunsHeight - kAround) / static_cast<double>(lines.size()))),
        axes_{{kNamesLeft, kRunsTop, kRunsWidth - kRunsRight - kNamesLeft, down()}, axis_of(plot), {}},
        svg_(kRunsWidth, kAround + down()) {}

  std::string str() {
    svg_.text(kRunsLeft, kRunsTop - 12, plot_.title, {.size = 13, .bold = true});
    axes_.draw(svg_, {});
    for (size_t i = 0; i < lines_.size(); ++i)
      if (!plot_.curves[i].mean.empty()) draw_line(i);
    return svg_.str();
  }

 private:
  static constexpr double kLeastRow = 10.5, kNamesLeft = 140, kAround = kRunsTop + kRunsBelow;  // pixels
  static constexpr double kOutside = 0.05;  // share of the values beyond each end of a stroke

  static ValueAxis axis_of(const RunsPlot& plot) {
    constexpr double kDecade = 10;
    CurveRange range;
    for (const CurveBand& band : plot.curves) {
      const CurveRange own = range_of_most(band.mean, kOutside);
      if (!own.is_empty()) range.take(own.low), range.take(own.high);
    }
    return values_of_range(range, kDecade);
  }

  double down() const { return row_ * static_cast<double>(lines_.size()); }

  void draw_line(size_t i) {
    constexpr double kLetters = 9.5;
    const double y = kRunsTop + row_ * (static_cast<double>(i) + 0.5);
    const CurveRange most = range_of_most(plot_.curves[i].mean, kOutside);
    const double median = median_of_curve(plot_.curves[i].mean);
    const Svg::Stroke stroke = numbered_stroke(i);
    svg_.begin_group(fmt::format("class=\"run\" data-run=\"{}\"", i), lines_[i].name);
    svg_.text(kNamesLeft - 6, y + 3.5, shortened(lines_[i].name, kNamesLeft - 10, kLetters),
              {.size = kLetters, .anchor = "end", .color = kQuietColor});
    svg_.line(axes_.x_at(most.low), y, axes_.x_at(most.high), y, {.color = stroke.color, .width = 3});
    svg_.circle(axes_.x_at(median), y, 3.5, stroke.color,
                fmt::format("{}: {:.6g}, nine tenths of the steps {:.6g} to {:.6g}", lines_[i].name, median, most.low,
                            most.high));
    svg_.end_group();
  }

  const RunsPlot& plot_;
  const std::vector<ChartedLine>& lines_;
  const double row_;
  const ChartAxes axes_;
  Svg svg_;
};

RunChart chart_of(const RunsPlot& plot, const std::vector<ChartedLine>& lines) {
  if (plot.is_spread && lines.size() > kFewRuns) {
    const std::string spread = SpreadChart(plot, lines).str();
    return {spread, spread};
  }
  return {drawn(plot, lines, &CurvePoint::epoch, "epochs"), drawn(plot, lines, &CurvePoint::step, "steps")};
}

bool is_blank(const RunsPlot& plot) {
  return std::all_of(plot.curves.begin(), plot.curves.end(), [](const CurveBand& band) { return band.mean.empty(); });
}

// Returns a plot for each title that `title_of` gives to a line, in the order in which they come.
template <class TitleOf, class CurveOf>
std::vector<RunsPlot> plots_of(const std::vector<ChartedLine>& lines, const RunsPlot& kind, TitleOf title_of,
                               CurveOf curve_of) {
  std::vector<RunsPlot> plots;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string title = title_of(lines[i]);
    auto plot = std::find_if(plots.begin(), plots.end(), [&](const RunsPlot& p) { return p.title == title; });
    if (plot == plots.end()) {
      plot = plots.insert(plots.end(), kind);
      plot->title = title;
      plot->curves.resize(lines.size());
    }
    std::vector<Curve> seeds;
    for (const RunCurves& curves : lines[i].seeds) seeds.push_back(curve_of(curves));
    plot->curves[i] = band_of(std::move(seeds));
  }
  return plots;
}

}  // namespace

std::vector<RunChart> run_charts(const std::vector<ChartedLine>& lines) {
  constexpr double kLossDecades = 100, kGoalDecade = 10, kRateShare = 0.01;
  const auto always = [](const char* title) { return [title](const ChartedLine&) { return std::string(title); }; };
  std::vector<RunsPlot> plots;
  const auto add = [&](const RunsPlot& kind, const auto& title_of, const auto& curve_of) {
    for (RunsPlot& plot : plots_of(lines, kind, title_of, curve_of)) plots.push_back(std::move(plot));
  };
  add(
      {.logarithmic_ratio = kGoalDecade, .has_dots = true},
      [](const ChartedLine& line) { return goal_label(line.seeds.front().goal); },
      [](const RunCurves& curves) { return scaled(curves.judged_goal, curves.goal.is_share ? 100 : 1); });
  add({.logarithmic_ratio = kLossDecades, .outliers = 0.002}, always("training loss"),
      [](const RunCurves& curves) { return smoothed(curves.training_loss); });
  add(
      {.logarithmic_ratio = kLossDecades, .has_dots = true},
      [](const ChartedLine& line) { return line.seeds.front().goal.part + " loss"; },
      [](const RunCurves& curves) { return curves.judged_loss; });
  // The axis of rates is logarithmic if the greatest rates of two lines differ by more than a factor of ten.
  add({.logarithmic_ratio = 10 / kRateShare, .least_share = kRateShare, .holds_all = true}, always("learning rate"),
      [](const RunCurves& curves) { return column_ends(curves.learning_rate, 200); });
  const bool is_spread = lines.size() > kFewRuns;
  const auto shown = [&](const Curve& curve) { return is_spread ? curve : medians(curve, kMedians); };
  add({.is_spread = true}, always("samples/s"), [&](const RunCurves& curves) { return shown(curves.samples_per_s); });
  add({.is_spread = true}, always("wait for data, ms a step"),
      [&](const RunCurves& curves) { return shown(curves.data_wait_ms); });
  std::vector<RunChart> charts;
  for (const RunsPlot& plot : plots)
    if (!is_blank(plot)) charts.push_back(chart_of(plot, lines));
  return charts;
}

}  // namespace kb
