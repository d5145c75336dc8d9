// Evaluations in the course of a training, the best state by them, and the test part at the end of a training that held
// out samples.
#include <cmath>

#include "recipes/train/training_loop.h"

namespace kb {

void TrainingLoop::evaluate(int64_t done, bool may_stop) {
  report_until(done);
  parts_.world.at("evaluation");
  parts_.observer.evaluation_begins(parts_.plan.epochs(done));
  if (batch_norm_) batch_norm_->run();
  const std::optional<Evaluation> evaluated = evaluator_.run(may_stop);
  if (!evaluated) {
    result_.ending = Ending::interrupted;
    return;
  }
  const Evaluation& evaluation = *evaluated;
  const std::optional<Evaluation> averaged = evaluate_averaged(may_stop);
  parts_.observer.evaluated({.step = done,
                             .epoch = parts_.plan.epochs(done),
                             .evaluation = evaluation,
                             .averaged = averaged,
                             .training = sums_.mean(parts_.metrics.training, parts_.batch.global),
                             .train_seconds = result_.train_seconds,
                             .part = judged_part_name(parts_.task),
                             .lr = done > 0 ? std::optional(parts_.schedule.rate(done - 1)) : std::nullopt,
                             .gain = done > 0 ? gain_of(done - 1) : std::nullopt,
                             .seconds = result_.train_seconds - evaluated_seconds_,
                             .noise = noise_.estimate()});
  evaluated_seconds_ = result_.train_seconds;
  if (!std::isfinite(evaluation.loss))
    stop_at_loss(parts_.task.valid ? "validation loss" : "test loss", evaluation.loss, done, false);
  if (const std::optional<double> error = evaluation.value("error"))
    note(watch_.evaluation(done, done <= parts_.plan.steps_per_epoch, *error, evaluation.count));
  note_best(evaluation, done);
  result_.evaluation = evaluation;
  result_.averaged = averaged;
  evaluated_at_ = done;
  judge_goals(evaluation, done);
  sums_ = {};
  save_model(done);
}

std::optional<Evaluation> TrainingLoop::evaluate_averaged(bool may_stop) {
  return averaged_ ? averaged_->run(may_stop) : std::nullopt;
}

// An evaluation that is not due is made where a run stops, and is no part of it once it goes on.
void TrainingLoop::note_best(const Evaluation& evaluation, int64_t done) {
  if (!evaluation_is_due(done) || !is_better(evaluation, result_.best)) return;
  result_.best = {done, evaluation, std::nullopt, {}};
  if (parts_.task.valid && parts_.task.test) result_.best->model = parts_.store.canonical(false);
}

std::optional<Figure> TrainingLoop::best_figure() const {
  return result_.best && result_.best->evaluation.goal() ? std::optional(*result_.best->evaluation.goal())
                                                         : std::nullopt;
}

// Ends the run as --stop-at 8.5% and --target ask. An evaluation that is not due reaches no target: where a run is
// stopped changes nothing of it.
void TrainingLoop::judge_goals(const Evaluation& evaluation, int64_t done) {
  const Figure* goal = evaluation.goal();
  if (goal && goal->kind.is_share && parts_.config.length.stop_at.is_reached(goal->value)) end_ = done;
  if (!parts_.config.length.target || !evaluation_is_due(done)) return;
  const std::optional<Figure> figure = evaluation.figure(parts_.config.length.target->metric);
  if (!figure || !parts_.config.length.target->is_reached_by(figure->value, figure->kind.higher_is_better)) return;
  result_.target = {done, parts_.plan.samples_in(done), parts_.plan.epochs(done)};
  end_ = done;
}

// The state is the same afterwards.
void TrainingLoop::evaluate_test_part() {
  if (!parts_.task.valid || !parts_.task.test) return;
  const int64_t done = result_.steps;
  parts_.world.at("evaluation of the test part");
  Evaluator evaluator(parts_.inference, parts_.task.fields, parts_.metrics.test, *parts_.task.test, kTestPart,
                      parts_.world);
  result_.evaluation = evaluator.run(false);
  result_.part = kTestPart;
  if (parts_.averaged)
    result_.averaged =
        Evaluator(*parts_.averaged, parts_.task.fields, parts_.metrics.test, *parts_.task.test, kTestPart, parts_.world)
            .run(false);
  parts_.observer.tested({done, parts_.plan.epochs(done), false, *result_.evaluation, result_.averaged});
  if (!result_.best) return;
  BestState& best = *result_.best;
  if (best.step == done)
    best.test = result_.evaluation;
  else if (!best.model.empty())
    best.test = evaluate_with(best.model, evaluator);
  if (best.test) parts_.observer.tested({best.step, parts_.plan.epochs(best.step), true, *best.test, std::nullopt});
}

Evaluation TrainingLoop::evaluate_with(const std::vector<NamedTensor>& model, Evaluator& evaluator) {
  const std::vector<NamedTensor> own = parts_.store.canonical(false);
  parts_.store.load(model);
  const Evaluation evaluation = *evaluator.run(false);
  parts_.store.load(own);
  return evaluation;
}

}  // namespace kb
