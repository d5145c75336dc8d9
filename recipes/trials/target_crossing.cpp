#include "recipes/trials/target_crossing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/error.h"
#include "recipes/train/evaluation.h"

namespace kb {

double figure_at(const RunReport& run, const EvaluationPoint& point, const std::string& metric) {
  if (metric == kLossName) return point.loss;
  if (metric == run.goal) return point.goal;
  const auto other = point.others.find(metric);
  return other == point.others.end() ? std::numeric_limits<double>::quiet_NaN() : other->second;
}

std::optional<int64_t> step_reaching(const RunReport& run, const TargetFigure& target) {
  const auto kind = run.metric_kinds.find(target.plain_metric());
  const bool higher_is_better = kind != run.metric_kinds.end() && kind->second.higher_is_better;
  for (const EvaluationPoint& point : run.evaluations)
    if (point.step > 0 && target.is_reached_by(figure_at(run, point, target.metric), higher_is_better))
      return point.step;
  return std::nullopt;
}

std::optional<TargetBracket> target_bracket(const RunReport& run, const TargetFigure& target) {
  ensure(run.target_step.has_value(), "target_bracket: the run has not reached its target");
  const auto figure = [&](const EvaluationPoint& point) { return figure_at(run, point, target.metric); };
  const auto hit = std::find_if(run.evaluations.begin(), run.evaluations.end(),
                                [&](const EvaluationPoint& point) { return point.step == *run.target_step; });
  if (hit == run.evaluations.begin() || hit == run.evaluations.end()) return std::nullopt;
  const EvaluationPoint& before = *(hit - 1);
  const double share = (figure(before) - target.value) / (figure(before) - figure(*hit));
  if (before.step < 1 || !(share >= 0 && share <= 1)) return std::nullopt;
  return TargetBracket{static_cast<double>(before.step), static_cast<double>(hit->step), figure(before), figure(*hit)};
}

double target_crossing(const RunReport& run, const TargetFigure& target) {
  const std::optional<TargetBracket> bracket = target_bracket(run, target);
  if (!bracket) return static_cast<double>(*run.target_step);
  const double share = (bracket->figure_before - target.value) / (bracket->figure_before - bracket->figure_at);
  return bracket->steps_before * std::pow(bracket->steps_at / bracket->steps_before, share);
}

}  // namespace kb
