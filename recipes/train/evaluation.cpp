#include "recipes/train/evaluation.h"

#include <fmt/format.h>

#include <limits>

namespace kb {

std::string Figure::text() const {
  return kind.is_share ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.4g}", value);
}

Figure figure_of(const NamedMetric& metric, double mean) {
  return {metric.name, metric.kind.finish ? metric.kind.finish(mean) : mean, metric.kind};
}

std::optional<double> Evaluation::value(const std::string& name) const {
  for (const Figure& figure : figures)
    if (figure.name == name) return figure.value;
  return std::nullopt;
}

std::optional<Figure> Evaluation::figure(const std::string& name) const {
  for (const Figure& figure : figures)
    if (figure.name == name) return figure;
  return name == kLossName ? std::optional(Figure{kLossName, loss, {}}) : std::nullopt;
}

bool reaches(const TargetFigure& target, const Evaluation& evaluation, const std::optional<Evaluation>& averaged) {
  if (target.is_of_averages() && !averaged) return false;
  const std::optional<Figure> figure = (target.is_of_averages() ? *averaged : evaluation).figure(target.plain_metric());
  return figure && target.is_reached_by(figure->value, figure->kind.higher_is_better);
}

Evaluation no_evaluation(const std::vector<NamedMetric>& metrics) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Evaluation none{kNone, 0, {}};
  for (const NamedMetric& metric : metrics) none.figures.push_back({metric.name, kNone, metric.kind});
  return none;
}

void StepSums::add(double step_loss, std::span<const double> step_means) {
  ++steps;
  loss += step_loss;
  metrics.resize(step_means.size());
  for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += step_means[i];
}

std::optional<Evaluation> StepSums::mean(const std::vector<NamedMetric>& names, int64_t count) const {
  if (steps == 0) return std::nullopt;
  const auto divisor = static_cast<double>(steps);
  Evaluation mean{loss / divisor, steps * count, {}};
  for (size_t i = 0; i < names.size(); ++i) mean.figures.push_back(figure_of(names[i], metrics.at(i) / divisor));
  return mean;
}

}  // namespace kb
