#include "recipes/train/evaluations.h"

#include <utility>

namespace kb {

Evaluations::Evaluations(const LoopParts& parts, const Instruments& instruments)
    : parts_(parts), instruments_(instruments), part_(judged_part_name(parts.task)) {
  use_phase(parts.plan.phase_done(parts.start.step));
}

void Evaluations::use_phase(size_t phase) {
  const size_t judging = parts_.plan.judging_phase(phase);
  if (judging_phase_ == judging) return;
  const auto use = [&](std::optional<Evaluator>& at, const std::vector<Session*>& programs) {
    std::optional<Evaluator> own =
        evaluator(programs, judging, judged_part(parts_.task), judged_part_word(parts_.task));
    if (own) at.emplace(std::move(*own));
  };
  use(evaluator_, parts_.inference);
  use(averaged_evaluator_, parts_.averaged);
  judging_phase_ = judging;
}

std::optional<Evaluator> Evaluations::evaluator(const std::vector<Session*>& programs, size_t phase,
                                                const Source& source, const char* word) const {
  if (programs.empty()) return std::nullopt;
  const std::span<Session* const> sessions = parts_.in_phase(programs, phase);
  return Evaluator({sessions.begin(), sessions.end()}, parts_.task.fields, parts_.metrics, source,
                   evaluation_order(parts_.settled, source), word, parts_.world);
}

void Evaluations::restore(const FlatJson& line) {
  if (is_step(line)) {
    evaluated_at_ = -1;
  } else if (is_evaluation(line)) {
    evaluation_ = evaluation_of(line, parts_.metrics.test);
    averaged_ = averaged_of(line, parts_.metrics.test);
    evaluated_at_ = parts_.start.step;
  }
}

bool Evaluations::is_due(int64_t done) const {
  return evaluation_is_due(parts_.config.judging.eval_every, parts_.plan, parts_.schedule, done);
}

bool Evaluations::run(int64_t done, double train_seconds, bool may_stop) {
  parts_.world.at("evaluation");
  use_phase(parts_.plan.phase_done(done));
  parts_.observer.evaluation_begins(parts_.plan.epochs(done));
  for (const auto& instrument : instruments_) instrument->evaluation_begins();
  const std::optional<Evaluation> evaluated = evaluator_->run(may_stop);
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
                          .drawings = evaluator_->drawn()};
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
  const size_t phase = parts_.plan.phase_done(done);
  std::optional<Evaluator> own = evaluator(parts_.inference, phase, *parts_.task.test, part_);
  evaluation_ = own->run(false);
  if (std::optional<Evaluator> averaged = evaluator(parts_.averaged, phase, *parts_.task.test, part_))
    averaged_ = averaged->run(false);
  parts_.observer.tested({done, parts_.plan.epochs(done), false, *evaluation_, averaged_});
  for (const auto& instrument : instruments_) instrument->tested({done, *evaluation_, *own});
}

// The result has no evaluations if the last ones are of an earlier state than the final one.
void Evaluations::tell(LoopResult& result) const {
  if (has(result.steps)) {
    result.evaluation = evaluation_;
    result.averaged = averaged_;
  }
  result.part = part_;
}

}  // namespace kb
