#include "recipes/train/best_keeper.h"

namespace kb {

std::optional<Figure> BestKeeper::figure() const {
  return best_ && best_->evaluation.goal() ? std::optional(*best_->evaluation.goal()) : std::nullopt;
}

// Makes the evaluated state the best state if it is better than all before. Returns whether it is.
bool BestKeeper::take(const Evaluation& evaluation, int64_t done) {
  if (!is_better(evaluation, best_)) return false;
  best_ = {done, evaluation, std::nullopt};
  return true;
}

void BestKeeper::restore(const FlatJson& line) {
  if (is_evaluation(line)) take(evaluation_of(line, parts_.metrics.test), step_of(line));
}

void BestKeeper::restored() {
  if (best_ && holds_model() && parts_.start.saved_model) model_ = parts_.start.saved_model(best_->step);
}

void BestKeeper::evaluated(const ReportedEvaluation& reported) {
  if (reported.is_due && take(reported.evaluation, reported.done) && holds_model())
    model_ = parts_.store.canonical(false);
}

void BestKeeper::tested(const ReportedTest& reported) {
  if (!best_) return;
  if (best_->step == reported.done)
    best_->test = reported.evaluation;
  else if (!model_.empty())
    best_->test = evaluate_model(reported.evaluator);
  if (best_->test)
    parts_.observer.tested({best_->step, parts_.plan.epochs(best_->step), true, *best_->test, std::nullopt});
}

// Evaluates the best state's model, then puts the present model back into the store. Optimizer state is not touched.
Evaluation BestKeeper::evaluate_model(Evaluator& evaluator) {
  const std::vector<NamedTensor> own = parts_.store.canonical(false);
  parts_.store.load(model_);
  const Evaluation evaluation = *evaluator.run(false);
  parts_.store.load(own);
  return evaluation;
}

}  // namespace kb
