#include "recipes/answer/answer_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "recipes/answer/answer_text.h"
#include "recipes/charts/cell_map.h"
#include "recipes/report/count_text.h"
#include "recipes/report/scatter_chart.h"
#include "recipes/report/shades.h"
#include "recipes/trials/run_reader.h"

namespace kb {
namespace {

constexpr const char* kMinibatchTitle = "minibatch, samples";
const Svg::Stroke kFitStroke = {.color = kFirstColor, .width = 2};
const Svg::Stroke kBandStroke = {.color = kFirstColor, .width = 0.8};
const Svg::Stroke kPerfectStroke = {.color = "#777", .width = 1.5, .dashes = "6 4"};
const Svg::Stroke kCriticalStroke = {.color = kThirdColor, .width = 1.5, .dashes = "2 3"};

std::vector<double> minibatches(const StudyAnswer& answer) {
  std::vector<double> all;
  for (const BestResult& one : answer.best) all.push_back(static_cast<double>(one.minibatch));
  return all;
}

ValueAxis axis_of_minibatches(const StudyAnswer& answer) { return axis_at(minibatches(answer)); }

// Shades the regions that the fit tells; does nothing without one.
void shade_regions(ScatterChart& chart, const StudyAnswer& answer) {
  if (!answer.fit) return;
  const auto [low, high] = std::pair(chart.x().low, chart.x().high);
  const auto shade = [&](double from, double to, const char* fill, ScalingRegion region) {
    const double begin = std::clamp(from, low, high), end = std::clamp(to, low, high);
    if (begin < end) chart.shade(begin, end, fill, text_of(region));
  };
  const ConfidenceInterval perfect = told_about(answer.fit->answer.perfect_end),
                           gain = told_about(answer.fit->answer.gain_end);
  shade(low, perfect.low, "#009e731f", ScalingRegion::perfect);
  shade(perfect.high, gain.low, "#e69f0021", ScalingRegion::diminishing);
  shade(gain.high, high, "#cc79a72b", ScalingRegion::no_gain);
}

// Marks B_crit by an upright line if it is known and the axis has it.
void mark_critical(ScatterFigure& figure, const StudyAnswer& answer) {
  if (!answer.fit) return;
  const auto& [at, interval] = answer.fit->answer.b_crit;
  const ValueAxis& x = figure.chart.x();
  if (at < x.low || at > x.high || !interval.has_low() || !interval.has_high()) return;
  figure.chart.upright(at, kCriticalStroke);
  figure.legend.push_back({fmt::format("B_crit {}", count_text(at, 3)), kCriticalStroke});
}

std::vector<ChartEntry> measured_legend(const StudyAnswer& answer, bool shows_missed) {
  const bool has_intervals = std::any_of(answer.best.begin(), answer.best.end(),
                                         [](const BestResult& one) { return one.interval.has_value(); });
  std::vector<ChartEntry> legend = {
      {has_intervals ? "measured, 95 %" : "measured", {.color = kSecondColor}, ChartMark::dot}};
  const bool any_missed = std::any_of(answer.missed.begin(), answer.missed.end(),
                                      [](const MissedResult& one) { return one.least_steps.has_value(); });
  if (shows_missed && any_missed) legend.push_back({"not reached", {.color = kSecondColor}, ChartMark::cross});
  if (answer.fit) legend.push_back({fmt::format("fit, its {}", level_text(answer.fit->answer)), kFitStroke});
  legend.push_back({"perfect scaling", kPerfectStroke});
  return legend;
}

// A number that follows from a minibatch and its steps to the target, as a figure shows it.
struct StepsPlot {
  std::string title, y;
  bool is_logarithmic = false, shows_missed = true;
  std::function<double(double minibatch, double steps)> value;
  std::function<double(double minibatch)> perfect, fitted;  // it falls, or grows, all the way
  std::function<std::string(const BestResult&)> tip;
  FitBand band = {};
  CurveRange range = {};  // values that the axis holds besides those that are drawn
};

// Extends the range by what is drawn; by the fit over the whole of x, so that its curve is not cut.
CurveRange range_of(const StepsPlot& plot, const StudyAnswer& answer) {
  CurveRange range = plot.range;
  const auto take = [&](int64_t minibatch, double steps) {
    range.take(plot.value(static_cast<double>(minibatch), steps));
  };
  const ValueAxis x = axis_of_minibatches(answer);
  if (answer.fit) range.take(plot.fitted(x.low)), range.take(plot.fitted(x.high));
  for (const MissedResult& one : answer.missed)
    if (plot.shows_missed && one.least_steps) take(one.minibatch, *one.least_steps);
  for (const BestResult& one : answer.best) {
    take(one.minibatch, one.steps);
    if (one.interval) take(one.minibatch, one.interval->low), take(one.minibatch, one.interval->high);
  }
  return range;
}

void draw_measured(ScatterChart& chart, const StepsPlot& plot, const StudyAnswer& answer) {
  for (const MissedResult& one : answer.missed) {
    const auto minibatch = static_cast<double>(one.minibatch);
    if (plot.shows_missed && one.least_steps)
      chart.cross(minibatch, plot.value(minibatch, *one.least_steps), kSecondColor);
  }
  for (const BestResult& one : answer.best) {
    const auto minibatch = static_cast<double>(one.minibatch);
    if (one.interval) {
      const auto [low, high] =
          std::minmax({plot.value(minibatch, one.interval->low), plot.value(minibatch, one.interval->high)});
      chart.whisker(minibatch, low, high, kSecondColor);
    }
    chart.dot(minibatch, plot.value(minibatch, one.steps), kSecondColor, plot.tip(one));
  }
}

std::string steps_figure(const StepsPlot& plot, const StudyAnswer& answer) {
  const CurveRange range = range_of(plot, answer);
  ScatterFigure figure(plot.title, axis_of_minibatches(answer),
                       plot.is_logarithmic ? logarithmic_values(range) : linear_values(range));
  figure.legend = measured_legend(answer, plot.shows_missed);
  shade_regions(figure.chart, answer);
  figure.chart.draw_axes({kMinibatchTitle, plot.y});
  mark_critical(figure, answer);
  figure.chart.curve(plot.perfect, kPerfectStroke);
  if (answer.fit) figure.chart.curve(plot.fitted, kFitStroke);
  for (const auto* edge : {&plot.band.low, &plot.band.high}) {
    std::vector<std::pair<double, double>> values;
    for (const auto& [minibatch, steps] : *edge) values.emplace_back(minibatch, plot.value(minibatch, steps));
    figure.chart.clipped_line(values, kBandStroke);
  }
  draw_measured(figure.chart, plot, answer);
  return figure.str();
}

// Returns the figures of steps, samples and efficiency.
std::vector<AnswerFigure> steps_figures(const StudyAnswer& answer) {
  constexpr double kPercent = 100;
  const double samples = answer.base_result().samples;
  const ScalingFit* fit = answer.fit ? &answer.fit->answer : nullptr;
  const FitBand band = band_of(answer);
  const auto percent = [=](double minibatch, double steps) { return kPercent * samples / (minibatch * steps); };
  const auto counts = [](const BestResult& one) {
    return fmt::format("minibatch {}: {} steps, {} samples", one.minibatch, count_text(one.steps),
                       count_text(one.samples));
  };
  const auto share = [=](const BestResult& one) {
    return fmt::format("minibatch {}: {:.0f} %", one.minibatch, percent(static_cast<double>(one.minibatch), one.steps));
  };
  const StepsPlot steps{"Steps to the target",
                        "steps",
                        true,
                        true,
                        [](double, double taken) { return taken; },
                        [=](double b) { return samples / b; },
                        [=](double b) { return fit->steps_at(b); },
                        counts,
                        band};
  const StepsPlot seen{"Samples to the target",
                       "samples",
                       false,
                       true,
                       [](double b, double taken) { return b * taken; },
                       [=](double) { return samples; },
                       [=](double b) { return fit->samples_at(b); },
                       counts,
                       band};
  const StepsPlot efficiency{
      fmt::format("Efficiency: samples of minibatch {} over its own", answer.base_result().minibatch),
      "%",
      false,
      false,
      percent,
      [=](double) { return kPercent; },
      [=](double b) { return kPercent * samples / fit->samples_at(b); },
      share,
      {},
      {kPercent, kPercent}};
  return {{"steps", steps_figure(steps, answer)},
          {"samples", steps_figure(seen, answer)},
          {"efficiency", steps_figure(efficiency, answer)}};
}

CurveRange range_of_rates(const StudyAnswer& answer) {
  CurveRange range;
  for (const BestResult& one : answer.best) {
    if (one.best.rate) range.take(*one.best.rate);
    if (one.rate_interval && one.rate_interval->has_low()) range.take(one.rate_interval->low);
    if (one.rate_interval && one.rate_interval->has_high()) range.take(one.rate_interval->high);
    if (one.diverged_from) range.take(*one.diverged_from);
  }
  return range;
}

std::string rates_figure(const StudyAnswer& answer) {
  const Svg::Stroke linear{.color = kFirstColor, .width = 1.5, .dashes = "6 4"};
  const Svg::Stroke square_root{.color = kThirdColor, .width = 1.5, .dashes = "2 3"};
  ScatterFigure figure(fmt::format("Best learning rate, lines from minibatch {}", answer.base_result().minibatch),
                       axis_of_minibatches(answer), logarithmic_values(range_of_rates(answer)));
  figure.chart.draw_axes({kMinibatchTitle, "learning rate"});
  const auto base = static_cast<double>(answer.base_result().minibatch);
  const double rate = *answer.base_result().best.rate;
  figure.chart.curve([&](double b) { return rate * b / base; }, linear);
  figure.chart.curve([&](double b) { return rate * std::sqrt(b / base); }, square_root);
  bool any_diverged = false, any_interval = false;
  for (const BestResult& one : answer.best) {
    const auto minibatch = static_cast<double>(one.minibatch);
    any_diverged |= one.diverged_from.has_value();
    if (one.diverged_from) figure.chart.cross(minibatch, *one.diverged_from, "#333");
    any_interval |= one.rate_interval.has_value();
    if (one.rate_interval)  // an open end is drawn at the best rate itself: a better one may lie beyond
      figure.chart.whisker(minibatch, one.rate_interval->has_low() ? one.rate_interval->low : *one.best.rate,
                           one.rate_interval->has_high() ? one.rate_interval->high : *one.best.rate, kSecondColor);
    if (one.best.rate)
      figure.chart.dot(minibatch, *one.best.rate, kSecondColor,
                       fmt::format("minibatch {}: {:.4g}", one.minibatch, *one.best.rate));
  }
  figure.legend = {{any_interval ? "best, as good" : "best", {.color = kSecondColor}, ChartMark::dot},
                   {"linear", linear},
                   {"square root", square_root}};
  if (any_diverged) figure.legend.push_back({"diverged above it", {.color = "#333"}, ChartMark::cross});
  return figure.str();
}

constexpr const char *kDivergedFill = "#f6c9a8", *kNotReachedFill = "#d9d9d9", *kHopelessFill = "#ececec";

// Returns whether the cell has steps: hopeless trials have none, whenever they were stopped.
bool has_steps(const RateResult& one) { return !one.steps.empty() && one.hopeless < one.runs; }

MapCell map_cell(const RateResult& one, double least_steps, bool is_best) {
  MapCell cell;
  cell.y = *one.rate;
  cell.is_outlined = is_best;
  const std::string runs = fmt::format("rate {:.4g}: {} of {} runs reached the target, {} diverged", *one.rate,
                                       one.steps.size(), one.runs, one.diverged);
  if (!has_steps(one)) {
    cell.mark = one.diverged > 0 ? "x" : one.hopeless > 0 ? ">" : "-";
    cell.fill = one.diverged > 0 ? kDivergedFill : one.hopeless > 0 ? kHopelessFill : kNotReachedFill;
    cell.tip = one.hopeless > 0 ? fmt::format("rate {:.4g}: hopeless", *one.rate) : runs;
    return cell;
  }
  cell.value = one.mean_steps() / least_steps;
  cell.tip = fmt::format("{}; {} steps", runs, count_text(one.mean_steps()));
  return cell;
}

// Returns, for each rate, the setting with the fewest steps.
std::vector<const RateResult*> best_by_rate(const std::vector<RateResult>& rates) {
  std::vector<const RateResult*> best;
  for (const RateResult& one : rates) {
    if (!one.rate) continue;
    if (best.empty() || best.back()->rate != one.rate)
      best.push_back(&one);
    else if (has_steps(one) && (!has_steps(*best.back()) || one.mean_steps() < best.back()->mean_steps()))
      best.back() = &one;
  }
  return best;
}

// Returns a text that says what the steps of a cell are measured by, and whether the runs of a minibatch have the same
// seeds.
std::string compared_text(const std::vector<MinibatchResults>& compared) {
  bool are_alike = true;
  CurveRange runs;  // numbers of runs that a cell is the mean of
  for (const MinibatchResults& at : compared) {
    are_alike = are_alike && (at.rates.size() < 2 || !common_seeds(at).empty());
    for (const RateResult* one : best_by_rate(at.rates))
      if (has_steps(*one)) runs.take(static_cast<double>(one->steps.size()));
  }
  if (are_alike) return "times the fewest of its minibatch, same seeds";
  if (runs.high < 2) return "times the fewest of its minibatch, single runs";
  return fmt::format("times its minibatch's fewest; means of {} runs",
                     runs.low == runs.high ? fmt::to_string(runs.low) : fmt::format("{} to {}", runs.low, runs.high));
}

// Writes the steps into the cells that have a value, in their order.
void mark_steps(std::vector<MapColumn>& columns, const std::vector<double>& steps) {
  constexpr int kDigits = 3;
  const std::vector<std::string> texts = count_texts(steps, kDigits);
  auto text = texts.begin();
  for (MapColumn& column : columns)
    for (MapCell& cell : column.cells)
      if (cell.value) cell.mark = *text++;
}

std::string rate_map(const StudyAnswer& answer) {
  std::vector<MinibatchResults> compared;
  for (const MinibatchResults& all : answer.all) compared.push_back(of_common_seeds(all));
  std::vector<MapColumn> columns;
  std::vector<double> marks;
  for (const MinibatchResults& at : compared) {
    MapColumn column{static_cast<double>(at.minibatch)};
    const auto best = std::find_if(answer.best.begin(), answer.best.end(),
                                   [&](const BestResult& one) { return one.minibatch == at.minibatch; });
    CurveRange steps;
    for (const RateResult& one : at.rates)
      if (!one.steps.empty()) steps.take(one.mean_steps());
    for (const RateResult* one : best_by_rate(at.rates)) {
      column.cells.push_back(map_cell(*one, steps.low, best != answer.best.end() && best->best.rate == one->rate));
      if (has_steps(*one)) marks.push_back(one->mean_steps());
    }
    if (!column.cells.empty()) columns.push_back(std::move(column));
  }
  mark_steps(columns, marks);
  return cell_map({"Steps to the target at every rate",
                   kMinibatchTitle,
                   "learning rate",
                   compared_text(compared),
                   {{"x", kDivergedFill, "diverged"},
                    {">", kHopelessFill, "hopeless: far beyond the fewest"},
                    {"-", kNotReachedFill, "not reached"}}},
                  columns);
}

using CoursePoints = std::vector<std::pair<double, double>>;

constexpr double kLightest = 0.85;  // greatest shade used: the yellow beyond it is hard to see on white
const Svg::Stroke kTargetStroke = {.color = "#333", .width = 1.5, .dashes = "6 4"};

// Returns the samples seen and the values of a run's evaluations. Values that are 0 or not finite are left out, since
// logarithmic axes have no place for them.
CoursePoints course_of(const RunReport& run, const std::string& metric) {
  CoursePoints points;
  for (const EvaluationPoint& point : run.evaluations) {
    const double value = figure_at(run, point, metric);
    if (std::isfinite(value) && value > 0 && point.step > 0)
      points.emplace_back(static_cast<double>(point.step * run.minibatch), value);
  }
  return points;
}

Svg::Stroke stroke_of(size_t place, size_t count) {
  const double share = count > 1 ? static_cast<double>(place) / static_cast<double>(count - 1) : 0;
  return {.color = shade_at(kLightest * share), .width = 1.6};
}

}  // namespace

FitBand band_of(const StudyAnswer& answer) {
  FitBand band;
  if (!answer.fit) return band;
  constexpr int kPieces = 24;
  const ValueAxis x = axis_of_minibatches(answer);
  std::vector<double> at;
  for (int i = 0; i <= kPieces; ++i) at.push_back(x.low * std::pow(x.high / x.low, i / double{kPieces}));
  const std::vector<ConfidenceInterval> intervals = steps_band(answer.measured.means, at);
  for (size_t i = 0; i < at.size(); ++i) {
    if (!intervals[i].has_low() || !intervals[i].has_high()) continue;
    band.low.emplace_back(at[i], intervals[i].low);
    band.high.emplace_back(at[i], intervals[i].high);
  }
  return band;
}

std::vector<AnswerFigure> answer_figures(const StudyAnswer& answer) {
  std::vector<AnswerFigure> figures = steps_figures(answer);
  if (!answer.base_result().best.rate) return figures;
  figures.push_back({"rates", rates_figure(answer)});
  const bool has_several =
      std::any_of(answer.all.begin(), answer.all.end(), [](const MinibatchResults& at) { return at.rates.size() > 1; });
  if (has_several) figures.push_back({"rate_map", rate_map(answer)});
  return figures;
}

AnswerFigure curves_figure(const StoreResults& results) {
  const TargetFigure& target = results.target;
  std::vector<CoursePoints> courses;
  CurveRange samples, values;
  values.take(target.value);
  for (const RunReport& run : results.best_runs) {
    courses.push_back(course_of(run, target.metric));
    for (const auto& [x, y] : courses.back()) samples.take(x), values.take(y);
  }
  ScatterFigure figure("The best training of each minibatch", logarithmic_values(samples), logarithmic_values(values),
                       94, 452);
  figure.chart.draw_axes({"samples seen", fmt::format("{} {}", results.best_runs.front().part, target.metric)});
  figure.chart.level(target.value, kTargetStroke);
  figure.legend = {{"target", kTargetStroke}};
  for (size_t i = 0; i < courses.size(); ++i) {
    figure.chart.line(courses[i], stroke_of(i, courses.size()));
    figure.legend.push_back({fmt::to_string(results.best_runs[i].minibatch), stroke_of(i, courses.size())});
  }
  return {"curves", figure.str()};
}

}  // namespace kb
