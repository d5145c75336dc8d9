#include <fmt/format.h>

#include <cmath>

#include "recipes/answer/branches_files.h"
#include "recipes/answer/branches_text.h"
#include "recipes/report/scatter_chart.h"

namespace kb {
namespace {

constexpr double kChartTop = 94;
const Svg::Stroke kToleranceStroke = {.color = "#777", .width = 1.5, .dashes = "6 4"};
const Svg::Stroke kWarmupStroke = {.color = kFirstColor, .width = 2};

using FigurePoints = std::vector<std::pair<double, double>>;

// Returns k and the difference of the loss from that of k = 1, of the branches that did not diverge.
FigurePoints differences_of(const PlaceAnswer& one) {
  FigurePoints points;
  for (const SmoothedBranch& branch : one.branches)
    if (std::isfinite(branch.difference.value))
      points.emplace_back(static_cast<double>(branch.run.factor), branch.difference.value);
  return points;
}

// Returns a linear axis around 0, with ticks at multiples of 1, 2 or 5 times a power of ten.
ValueAxis values_around_zero(const CurveRange& range) {
  const double step = round_ticks(std::max(range.high - range.low, 1e-9)).at(1);
  ValueAxis axis{step * std::floor(range.low / step), step * std::ceil(range.high / step)};
  for (double tick = axis.low; tick < axis.high + step / 2; tick += step)
    axis.ticks.push_back(step * std::round(tick / step));
  return axis;
}

std::string branch_losses_figure(const BranchesAnswer& answer) {
  std::vector<double> factors;
  for (const SmoothedBranch& branch : answer.places.front().branches)
    factors.push_back(static_cast<double>(branch.run.factor));
  CurveRange range;
  range.take(0);
  range.take(2 * answer.tolerance);
  for (const PlaceAnswer& one : answer.places)
    for (const auto& [k, difference] : differences_of(one)) range.take(difference);
  ScatterFigure figure("Loss of branches with k times the minibatch", axis_at(factors), values_around_zero(range),
                       kChartTop);
  figure.chart.draw_axes({"k", fmt::format("loss less that of k = 1 ({})", answer.smoothing.text())});
  figure.chart.level(answer.tolerance, kToleranceStroke);
  figure.legend = {{"tolerance", kToleranceStroke}};
  for (size_t i = 0; i < answer.places.size(); ++i) {
    const FigurePoints points = differences_of(answer.places[i]);
    figure.chart.line(points, numbered_stroke(i));
    for (const auto& [k, difference] : points)
      figure.chart.dot(k, difference, numbered_stroke(i).color,
                       fmt::format("place {}st, k {}: {:+.4f}", answer.places[i].place.step, k, difference));
    figure.legend.push_back({fmt::format("{}st", answer.places[i].place.step), numbered_stroke(i)});
  }
  return figure.str();
}

// Returns the minibatch of the warmup that follows, as a staircase from the first place to the last.
FigurePoints warmup_stairs(const BranchesAnswer& answer) {
  FigurePoints points;
  double minibatch = static_cast<double>(answer.base_minibatch);
  const auto first = static_cast<double>(answer.places.front().place.samples),
             last = static_cast<double>(answer.places.back().place.samples);
  points.emplace_back(first, minibatch);
  for (const Growth& growth : answer.warmup) {
    const double at = 1000 * growth.at.count;
    points.emplace_back(at, minibatch);
    minibatch *= static_cast<double>(growth.factor);
    points.emplace_back(at, minibatch);
  }
  points.emplace_back(last, minibatch);
  return points;
}

// Returns the range of all minibatches that the figure of them shows.
CurveRange range_of_minibatches(const BranchesAnswer& answer) {
  CurveRange range;
  for (const auto& [samples, minibatch] : warmup_stairs(answer)) range.take(minibatch);
  for (const PlaceAnswer& one : answer.places) {
    for (const auto& end : {one.low(), one.high()})
      if (end) range.take(static_cast<double>(*end));
    if (const std::optional<NoiseScale>& noise = one.branches.front().run.noise; noise && noise->high) {
      if (noise->low > 0) range.take(noise->low);
      range.take(*noise->high);
    }
  }
  return range;
}

// Draws the interval with the geometric mean of its ends, as section 3.2 of the paper does; one end alone as a dot if
// it is the lower one, as a cross if it is the upper one.
void draw_local(ScatterChart& chart, const PlaceAnswer& one) {
  const auto samples = static_cast<double>(one.place.samples);
  const std::string tip = fmt::format("place {}st: {}", one.place.step, one.text());
  if (one.low() && one.high()) {
    const auto low = static_cast<double>(*one.low()), high = static_cast<double>(*one.high());
    chart.whisker(samples, low, high, kSecondColor);
    chart.dot(samples, std::sqrt(low * high), kSecondColor, tip);
  } else if (one.low()) {
    chart.dot(samples, static_cast<double>(*one.low()), kSecondColor, tip);
  } else if (one.high()) {
    chart.cross(samples, static_cast<double>(*one.high()), kSecondColor);
  }
}

bool draw_noise(ScatterChart& chart, const PlaceAnswer& one) {
  const std::optional<NoiseScale>& noise = one.branches.front().run.noise;
  if (!noise || !noise->high || !(noise->low > 0)) return false;
  const auto samples = static_cast<double>(one.place.samples);
  chart.whisker(samples, noise->low, *noise->high, kThirdColor);
  chart.dot(samples, noise->samples, kThirdColor,
            fmt::format("place {}st: noise scale {}", one.place.step, noise_text(one)));
  return true;
}

std::string local_minibatches_figure(const BranchesAnswer& answer) {
  std::vector<double> seen;
  for (const PlaceAnswer& one : answer.places) seen.push_back(static_cast<double>(one.place.samples));
  ScatterFigure figure("The local critical minibatch", axis_at(seen), logarithmic_values(range_of_minibatches(answer)),
                       kChartTop);
  figure.chart.draw_axes({"samples seen", "minibatch, samples"});
  figure.chart.line(warmup_stairs(answer), kWarmupStroke);
  bool any_noise = false, any_below = false;
  for (const PlaceAnswer& one : answer.places) {
    draw_local(figure.chart, one);
    any_below = any_below || (one.high() && !one.low());
    any_noise = draw_noise(figure.chart, one) || any_noise;
  }
  figure.legend = {{"B_local, or at least", {.color = kSecondColor}, ChartMark::dot}};
  if (any_below) figure.legend.push_back({"below", {.color = kSecondColor}, ChartMark::cross});
  if (any_noise) figure.legend.push_back({"noise scale, 95 %", {.color = kThirdColor}, ChartMark::dot});
  figure.legend.push_back({"warmup that follows", kWarmupStroke});
  return figure.str();
}

}  // namespace

std::vector<AnswerFigure> branches_figures(const BranchesAnswer& answer) {
  return {{"branches_losses", branch_losses_figure(answer)}, {"branches_critical", local_minibatches_figure(answer)}};
}

}  // namespace kb
