#include "recipes/train/goals.h"

namespace kb {

// Forgets a goal that was reached when a step or another evaluation follows: then the run went on after it.
void Goals::restore(const FlatJson& line) {
  if (is_step(line) || is_evaluation(line)) {
    is_reached_ = false;
    target_.reset();
  }
  if (is_evaluation(line)) judge({parts_.start.step, evaluation_of(line, parts_.metrics.test), true});
}

void Goals::judge(const ReportedEvaluation& reported) {
  const Length& length = parts_.config.length;
  const Figure* goal = reported.evaluation.goal();
  if (goal && goal->kind.is_share && length.stop_at.is_reached(goal->value)) is_reached_ = true;
  if (!length.target || !reported.is_due) return;
  const std::optional<Figure> figure = reported.evaluation.figure(length.target->metric);
  if (!figure || !length.target->is_reached_by(figure->value, figure->kind.higher_is_better)) return;
  target_ = {reported.done, parts_.plan.samples_in(reported.done), parts_.plan.epochs(reported.done)};
  is_reached_ = true;
}

std::optional<EndWish> Goals::wants(int64_t) { return is_reached_ ? std::optional(EndWish{}) : std::nullopt; }

}  // namespace kb
