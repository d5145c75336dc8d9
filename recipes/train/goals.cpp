#include "recipes/train/goals.h"

namespace kb {

bool reaches(const TargetFigure& target, const Evaluation& evaluation, const std::optional<Evaluation>& averaged) {
  if (target.is_of_averages() && !averaged) return false;
  const std::optional<Figure> figure = (target.is_of_averages() ? *averaged : evaluation).figure(target.plain_metric());
  return figure && target.is_reached_by(figure->value, figure->kind.higher_is_better);
}

// Forgets a goal that was reached when a step or another evaluation follows: then the run went on after it.
void Goals::restore(const FlatJson& line) {
  if (is_step(line) || is_evaluation(line)) {
    is_reached_ = false;
    target_.reset();
  }
  if (!is_evaluation(line)) return;
  const std::vector<NamedMetric>& metrics = parts_.metrics.test;
  judge({parts_.start.step, evaluation_of(line, metrics), averaged_of(line, metrics), true});
}

void Goals::judge(const ReportedEvaluation& reported) {
  const Length& length = parts_.config.length;
  const Figure* goal = reported.evaluation.goal();
  if (goal && goal->kind.is_share && length.stop_at.is_reached(goal->value)) is_reached_ = true;
  if (!length.target || !reported.is_due) return;
  if (!reaches(*length.target, reported.evaluation, reported.averaged)) return;
  target_ = {reported.done, parts_.plan.samples_in(reported.done), parts_.plan.epochs(reported.done)};
  is_reached_ = true;
}

std::optional<EndWish> Goals::wants(int64_t) { return is_reached_ ? std::optional(EndWish{}) : std::nullopt; }

}  // namespace kb
