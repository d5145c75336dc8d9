#include "recipes/trials/target_crossing.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "recipes/train/evaluation.h"

namespace kb {

std::optional<TargetBracket> target_bracket(const RunReport& run, const TargetFigure& target) {
  ensure(run.target_step.has_value(), "target_bracket: the run has not reached its target");
  const bool is_loss = target.metric == kLossName;
  if (!is_loss && target.metric != run.goal) return std::nullopt;
  const auto figure = [&](const EvaluationPoint& point) { return is_loss ? point.loss : point.goal; };
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
