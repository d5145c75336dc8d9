#include "recipes/train/training_loop.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "recipes/train/evaluations.h"
#include "recipes/train/gather_copies.h"
#include "recipes/train/instruments.h"
#include "recipes/train/step_feed.h"
#include "recipes/train/step_reports.h"
#include "recipes/train/step_runner.h"

namespace kb {
namespace {

LoopParts at_start(LoopParts parts) {
  set_phase(parts, parts.plan.phase_of(parts.start.step), parts.start.step);
  return parts;
}

// Decides when checkpoints of a training are made, and collects what they hold beside the state.
class Checkpoints {
 public:
  // Both must outlive this object.
  Checkpoints(const LoopParts& parts, const Instruments& instruments) : parts_(parts), instruments_(instruments) {}

  // Notes that a checkpoint of the state after `done` steps exists.
  void has(int64_t done) { last_ = cursor(done); }

  // Returns true if an evaluation is due after `done` steps, or if judging.save_every asks for a checkpoint there.
  bool is_due(int64_t done) const {
    return evaluation_is_due(parts_.config.judging.eval_every, parts_.plan, parts_.schedule, done) ||
           kb::is_due(parts_.config.judging.save_every, parts_.plan, done);
  }

  // Saves the state after `done` steps, all of which have been reported. Does nothing if the last checkpoint is of this
  // state, unless the state has turned out to be the best (or no longer is) since then.
  void save(int64_t done) {
    CheckpointCursor next = cursor(done);
    if (last_ && last_->step == done && last_->is_best == next.is_best) return;
    parts_.world.at("checkpoint");
    gather_copies(parts_);
    parts_.observer.save_checkpoint(next);
    last_ = std::move(next);
  }

 private:
  CheckpointCursor cursor(int64_t done) const {
    CheckpointCursor cursor{.step = done, .samples = parts_.plan.samples_in(done), .schedule_sha256 = ""};
    for (const auto& instrument : instruments_) instrument->state(cursor);
    return cursor;
  }

  const LoopParts& parts_;
  const Instruments& instruments_;
  std::optional<CheckpointCursor> last_;  // cursor of the last checkpoint
};

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopParts parts)
      : parts_(at_start(std::move(parts))),
        feed_(parts_),
        instruments_(make_instruments(parts_, feed_)),
        runner_(parts_, feed_),
        reports_(parts_, instruments_),
        evaluations_(parts_, instruments_),
        checkpoints_(parts_, instruments_),
        last_step_(last_step(parts_.config.length.stop_at, parts_.plan)) {
    result_.steps = parts_.start.step;
    restore();
    feed_.open(result_.steps);
  }

  LoopResult run() {
    try {
      begin();
      while (goes_on()) take_step();
      end();
    } catch (const Fault& fault) {
      diverge(fault);
    }
    tell();
    parts_.observer.finish();
    return result_;
  }

 private:
  void restore() {
    if (parts_.start.past)
      parts_.start.past([this](const FlatJson& line) {
        evaluations_.restore(line);
        for (const auto& instrument : instruments_) instrument->restore(line);
      });
    for (const auto& instrument : instruments_) instrument->restored();
    if (result_.steps > 0 && parts_.start.is_saved) checkpoints_.has(result_.steps);
  }

  void begin() {
    save_model();
    if (result_.steps == 0) return;
    if (!evaluations_.has(result_.steps) && evaluations_.is_due(result_.steps)) evaluate(true);
    if (result_.ending == Ending::finished) save_checkpoint();
  }

  bool goes_on() {
    if (result_.ending != Ending::finished) return false;
    for (const auto& instrument : instruments_) {
      const std::optional<EndWish> wish = instrument->wants(result_.steps);
      if (wish && wish->fault) throw *wish->fault;
      if (wish) return false;
    }
    return result_.steps < last_step_ && !parts_.schedule.is_over(result_.steps);
  }

  void take_step() {
    const bool reads_at_once = prepare(result_.steps);
    const std::optional<TakenStep> taken = runner_.take(result_.steps);
    if (!taken) {
      result_.ending = Ending::interrupted;
      return;
    }
    reports_.add(*taken);
    ++result_.steps;
    reports_.until(result_.steps - (reads_at_once ? 0 : parts_.training().lag()));
    after_step(result_.steps);
  }

  // Lets the instruments act before a step. Returns whether the step must be reported before the next one begins.
  bool prepare(int64_t step) {
    set_step(parts_, step);
    bool reads_at_once = false;
    for (const auto& instrument : instruments_) {
      reads_at_once = reads_at_once || instrument->reads_at_once(step);
      if (!instrument->acts_before(step)) continue;
      reports_.until(step);
      instrument->before(step);
    }
    return reads_at_once;
  }

  void after_step(int64_t done) {
    if (parts_.observer.wants_to_stop()) parts_.world.stop(kObserverStop);
    runner_.show_profile();
    if (parts_.plan.ends_epoch(done)) {
      reports_.until(done);
      reports_.end_epoch(done);
    }
    if (evaluations_.is_due(done)) evaluate(true);
    if (result_.ending == Ending::finished && checkpoints_.is_due(done)) save_checkpoint();
  }

  void evaluate(bool may_stop) {
    reports_.until(result_.steps);
    if (evaluations_.run(result_.steps, reports_.train_seconds(), may_stop))
      save_model();
    else
      result_.ending = Ending::interrupted;
  }

  void save_model() {
    for (const auto& instrument : instruments_) instrument->keeps_model(result_.steps);
    parts_.observer.save_model(result_.steps);
    saved_at_ = result_.steps;
  }

  void save_checkpoint() {
    reports_.until(result_.steps);
    checkpoints_.save(result_.steps);
  }

  void end() {
    const bool is_finished = result_.ending == Ending::finished, evaluates_here = parts_.config.judging.eval_on_stop;
    if (!is_finished) {
      reports_.until(result_.steps);
      parts_.observer.note(fmt::format("stopping after {} steps{} (Ctrl-C again: at once)", result_.steps,
                                       evaluates_here ? "; evaluating" : ""));
    }
    save_checkpoint();
    if (!evaluations_.has(result_.steps) && (is_finished || evaluates_here)) evaluate(false);
    if (is_finished) evaluations_.test(result_.steps);
  }

  void diverge(const Fault& fault) {
    if (fault.keeps_state) {
      if (fault.step > parts_.start.step) checkpoints_.save(fault.step);
      parts_.observer.finish();
    }
    const double lr = parts_.schedule.rate(fault.step);
    const std::string reason = fault.what.substr(0, fault.what.find(':'));
    const std::string kept = parts_.observer.failed({fault.step, lr, reason, saved_at_});
    result_.ending = Ending::diverged;
    result_.is_diverged = true;
    result_.reason =
        fmt::format("{} at step {}, with learning rate {}: stopped{}\n  kept: {}\n  hint: {}", fault.what, fault.step,
                    lr, fault.maker.empty() ? "" : "\n  made by: " + fault.maker, kept, fault.hint);
  }

  void tell() {
    reports_.tell(result_);
    evaluations_.tell(result_);
    for (const auto& instrument : instruments_) instrument->tell(result_);
    result_.is_cut = result_.ending == Ending::finished && !result_.target && !parts_.schedule.is_over(result_.steps);
  }

  LoopParts parts_;
  StepFeed feed_;
  const Instruments instruments_;
  StepRunner runner_;
  StepReports reports_;
  Evaluations evaluations_;
  Checkpoints checkpoints_;
  const int64_t last_step_;  // number of steps after which the training ends at the latest
  int64_t saved_at_ = -1;    // number of steps done when the model was last saved; -1: it was not
  LoopResult result_;
};

}  // namespace

LoopResult run_training_loop(LoopParts parts) { return TrainingLoop(std::move(parts)).run(); }

}  // namespace kb
