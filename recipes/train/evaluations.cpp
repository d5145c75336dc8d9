#include "recipes/train/evaluations.h"

#include <utility>

namespace kb {

Evaluations::Evaluations(const LoopParts& parts, const Instruments& instruments)
    : parts_(parts),
      instruments_(instruments),
      evaluator_(evaluator(parts.inference, judged_part(parts.task), judged_part_word(parts.task))),
      averaged_evaluator_(averaged_evaluator(judged_part(parts.task), judged_part_word(parts.task))),
      part_(judged_part_name(parts.task)) {}

std::optional<Evaluator> Evaluations::averaged_evaluator(const Source& source, const char* word) const {
  if (parts_.averaged.empty()) return std::nullopt;
  return evaluator(parts_.averaged, source, word);
}

Evaluator Evaluations::evaluator(const std::vector<Session*>& sessions, const Source& source, const char* word) const {
  return {sessions, parts_.task.fields, parts_.metrics, source, evaluation_order(parts_.settled, source),
          word,     parts_.world};
}

void Evaluations::restore(const FlatJson& line) {
  if (is_step(line)) {
    evaluation_.reset();
    evaluated_at_ = -1;
  } else if (is_evaluation(line)) {
    evaluation_ = evaluation_of(line, parts_.metrics.test);
    evaluated_at_ = parts_.start.step;
  }
}

bool Evaluations::is_due(int64_t done) const {
  return evaluation_is_due(parts_.config.judging.eval_every, parts_.plan, parts_.schedule, done);
}

bool Evaluations::run(int64_t done, double train_seconds, bool may_stop) {
  parts_.world.at("evaluation");
  parts_.observer.evaluation_begins(parts_.plan.epochs(done));
  for (const auto& instrument : instruments_) instrument->evaluation_begins();
  const std::optional<Evaluation> evaluated = evaluator_.run(may_stop);
  if (!evaluated) return false;
  const std::optional<Evaluation> averaged = averaged_evaluator_ ? averaged_evaluator_->run(may_stop) : std::nullopt;
  if (averaged_evaluator_ && !averaged) return false;
  EvaluationReport report{.step = done,
                          .epoch = parts_.plan.epochs(done),
                          .evaluation = *evaluated,
                          .averaged = averaged,
                          .training = std::nullopt,
                          .train_seconds = train_seconds,
                          .part = part_,
                          .lr = done > 0 ? std::optional(parts_.schedule.rate(done - 1)) : std::nullopt,
                          .seconds = train_seconds - std::exchange(evaluated_seconds_, train_seconds),
                          .drawings = evaluator_.drawn()};
  for (const auto& instrument : instruments_) instrument->add_to_evaluation(report);
  parts_.observer.evaluated(report);
  for (const auto& instrument : instruments_) instrument->evaluated({done, *evaluated, averaged, is_due(done)});
  evaluation_ = evaluated;
  averaged_ = averaged;
  evaluated_at_ = done;
  return true;
}

// An instrument may load another state into the store for the test, but puts this one back.
void Evaluations::test(int64_t done) {
  if (!parts_.task.valid || !parts_.task.test) return;
  parts_.world.at("evaluation of the test part");
  part_ = kTestPart;
  Evaluator own = evaluator(parts_.inference, *parts_.task.test, part_);
  evaluation_ = own.run(false);
  if (std::optional<Evaluator> averaged = averaged_evaluator(*parts_.task.test, part_))
    averaged_ = averaged->run(false);
  parts_.observer.tested({done, parts_.plan.epochs(done), false, *evaluation_, averaged_});
  for (const auto& instrument : instruments_) instrument->tested({done, *evaluation_, own});
}

// The result has no evaluation if the last one is of an earlier state than the final one.
void Evaluations::tell(LoopResult& result) const {
  if (has(result.steps)) result.evaluation = evaluation_;
  result.averaged = averaged_;
  result.part = part_;
}

}  // namespace kb
