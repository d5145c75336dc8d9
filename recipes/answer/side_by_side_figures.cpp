#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "recipes/answer/side_by_side.h"
#include "recipes/report/count_text.h"
#include "recipes/report/scatter_chart.h"

namespace kb {
namespace {

constexpr double kWidth = 620, kHeight = 460, kLine = 16;

std::string curve_color_of(size_t number) { return numbered_stroke(number).color; }

// A chart of several studies, with a colour for each and a legend of their names.
class SharedFrame {
 public:
  SharedFrame(const std::string& title, const std::vector<NamedStudy>& studies, ValueAxis x, ValueAxis y,
              const AxisTitles& titles)
      : studies_(studies),
        top_(60 + kLine * static_cast<double>(studies.size())),
        svg_(kWidth, kHeight + top_ - 60),
        chart_(svg_, {70, top_, kWidth - 90, kHeight - 120}, std::move(x), std::move(y)) {
    svg_.text(16, 24, title, {.size = 15, .bold = true});
    chart_.draw_axes(titles);
  }

  ScatterChart& chart() { return chart_; }

  std::string str() {
    double y = 44;
    for (size_t i = 0; i < studies_.size(); ++i, y += kLine)
      draw_entries(svg_, 16, y, kWidth, {{studies_[i].name, {.color = curve_color_of(i), .width = 2}}});
    return svg_.str();
  }

 private:
  const std::vector<NamedStudy>& studies_;
  const double top_;
  Svg svg_;
  ScatterChart chart_;
};

ValueAxis axis_of_minibatches(const std::vector<NamedStudy>& studies) {
  std::set<double> all;
  for (const NamedStudy& study : studies)
    for (const BestResult& one : study.answer.best) all.insert(static_cast<double>(one.minibatch));
  return axis_at({all.begin(), all.end()});
}

std::string steps_figure(const std::vector<NamedStudy>& studies) {
  CurveRange range;
  for (const NamedStudy& study : studies)
    for (const BestResult& one : study.answer.best) {
      range.take(one.steps);
      if (one.interval) range.take(one.interval->low), range.take(one.interval->high);
    }
  SharedFrame figure("Steps to the target, 95 %", studies, axis_of_minibatches(studies), logarithmic_values(range),
                     {"minibatch, samples", "steps"});
  for (size_t i = 0; i < studies.size(); ++i) {
    const StudyAnswer& answer = studies[i].answer;
    const std::string color = curve_color_of(i);
    if (answer.fit) {
      figure.chart().curve([&](double b) { return answer.fit->answer.steps_at(b); }, {.color = color, .width = 2});
      const FitBand band = band_of(answer);
      for (const auto* edge : {&band.low, &band.high})
        figure.chart().clipped_line(*edge, {.color = color, .width = 0.8});
    }
    for (const BestResult& one : answer.best) {
      const auto minibatch = static_cast<double>(one.minibatch);
      if (one.interval) figure.chart().whisker(minibatch, one.interval->low, one.interval->high, color);
      figure.chart().dot(
          minibatch, one.steps, color,
          fmt::format("{}, minibatch {}: {} steps", studies[i].name, one.minibatch, count_text(one.steps)));
    }
  }
  return figure.str();
}

// Returns a figure of the best rates; "" if no study has rates.
std::string rates_figure(const std::vector<NamedStudy>& studies) {
  const auto rate_of = [](const BestResult& one) { return one.effective_rate ? one.effective_rate : one.best.rate; };
  CurveRange range;
  for (const NamedStudy& study : studies)
    for (const BestResult& one : study.answer.best)
      if (rate_of(one)) range.take(*rate_of(one));
  if (range.is_empty()) return "";
  SharedFrame figure("Best learning rate", studies, axis_of_minibatches(studies), logarithmic_values(range),
                     {"minibatch, samples", "learning rate"});
  for (size_t i = 0; i < studies.size(); ++i) {
    std::vector<std::pair<double, double>> line;
    for (const BestResult& one : studies[i].answer.best)
      if (rate_of(one)) line.emplace_back(static_cast<double>(one.minibatch), *rate_of(one));
    figure.chart().line(line, {.color = curve_color_of(i), .width = 1.2});
    for (const auto& [minibatch, rate] : line)
      figure.chart().dot(minibatch, rate, curve_color_of(i),
                         fmt::format("{}, minibatch {:.0f}: {:.4g}", studies[i].name, minibatch, rate));
  }
  return figure.str();
}

// Returns a figure of time against samples on a cluster; "" if none was asked for. A study that missed the target has
// no costs.
std::string cluster_figure(const std::vector<NamedStudy>& studies) {
  CurveRange seconds, samples;
  for (const NamedStudy& study : studies)
    if (study.answer.cluster)
      for (const TargetCost& row : study.answer.cluster->rows) seconds.take(row.seconds), samples.take(row.samples);
  if (seconds.is_empty()) return "";
  SharedFrame figure("Time to the target against its samples", studies, logarithmic_values(seconds),
                     logarithmic_values(samples), {"seconds", "samples"});
  for (size_t i = 0; i < studies.size(); ++i) {
    if (!studies[i].answer.cluster) continue;
    std::vector<std::pair<double, double>> line;
    for (const TargetCost& row : studies[i].answer.cluster->rows) line.emplace_back(row.seconds, row.samples);
    figure.chart().line(line, {.color = curve_color_of(i), .width = 1.5});
    for (const TargetCost& row : studies[i].answer.cluster->rows)
      figure.chart().dot(
          row.seconds, row.samples, curve_color_of(i),
          fmt::format("{}, {} workers, minibatch {}", studies[i].name, row.at.workers, row.at.minibatch));
  }
  return figure.str();
}

}  // namespace

std::vector<AnswerFigure> side_by_side_figures(const std::vector<NamedStudy>& studies) {
  std::vector<AnswerFigure> figures = {{"steps", steps_figure(studies)}};
  if (std::string rates = rates_figure(studies); !rates.empty()) figures.push_back({"rates", std::move(rates)});
  if (std::string cluster = cluster_figure(studies); !cluster.empty())
    figures.push_back({"cluster", std::move(cluster)});
  return figures;
}

}  // namespace kb
