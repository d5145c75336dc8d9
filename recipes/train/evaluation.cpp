#include "recipes/train/evaluation.h"

#include <fmt/format.h>

#include <limits>

namespace kb {

std::string Figure::text() const {
  return kind.is_share ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.4g}", value);
}

std::optional<double> Evaluation::value(const std::string& name) const {
  for (const Figure& figure : figures)
    if (figure.name == name) return figure.value;
  return std::nullopt;
}

Evaluation no_evaluation(const std::vector<NamedMetric>& metrics) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Evaluation none{kNone, 0, {}};
  for (const NamedMetric& metric : metrics) none.figures.push_back({metric.name, kNone, metric.kind});
  return none;
}

}  // namespace kb
