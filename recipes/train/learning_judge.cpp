#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "recipes/train/instruments.h"
#include "recipes/train/learning_watch.h"

namespace kb {
namespace {

int64_t warmup_steps(const ScheduleSpec& spec) {
  return spec.warmup == "none" ? 0 : std::llround(spec.warmup_epochs * static_cast<double>(spec.steps_per_epoch));
}

// Notes what is odd about a training's losses and errors, and ends a training whose epochs learn nothing
// (learning_watch.h).
class LearningJudge : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit LearningJudge(const LoopParts& parts)
      : parts_(parts),
        watch_(parts.task.classes, warmup_steps(parts.schedule.scalars().rate().spec()), class_counts(parts.task),
               judged_part_name(parts.task)) {}

  // Brings the watch back to what it knew when the run was stopped. An epoch is not judged if the line of one of its
  // steps is missing.
  void restore(const FlatJson& line) override {
    if (!is_step(line)) return;
    const double loss = loss_of(line);
    for (const int64_t step = step_of(line); restored_ <= step;) {
      if (restored_ == step && !std::isnan(loss)) {
        watch_.passed_step(step, loss);
        epoch_.add(loss, {});
      }
      if (parts_.plan.ends_epoch(++restored_)) epoch_fault(std::exchange(epoch_, {}), restored_);
    }
  }

  void stepped(const ReportedStep& reported) override {
    note(watch_.step(reported.metrics.step, reported.metrics.loss, reported.metrics.lr));
    epoch_.add(reported.metrics.loss, {});
  }

  void epoch_ended() override { ended_ = std::exchange(epoch_, {}); }

  void evaluated(const ReportedEvaluation& reported) override {
    if (const std::optional<double> error = reported.evaluation.value("error"))
      note(watch_.evaluation(reported.done, reported.done <= parts_.plan.steps_per_epoch, *error,
                             reported.evaluation.count));
  }

  // Judges the epoch that has just ended, if any. With judging.keep_going it never asks for an end, but notes once that
  // the run continues although it diverges.
  std::optional<EndWish> wants(int64_t done) override {
    if (!ended_) return std::nullopt;
    const std::string fault = epoch_fault(*std::exchange(ended_, std::nullopt), done);
    if (fault.empty()) return std::nullopt;
    if (!parts_.config.judging.keep_going)
      return EndWish{
          Fault{fault, done, "", fmt::format("{}; judging.keep_going goes on all the same", kLowerRate), true}};
    if (!std::exchange(told_keep_going_, true))
      note("NOTE: " + fault + "\n  it goes on all the same: judging.keep_going");
    return std::nullopt;
  }

  void tell(LoopResult& result) const override { result.is_diverged |= watch_.is_diverging(); }

 private:
  // Epochs are judged against the loss of step 0, which is no measure if the run began with trained weights.
  bool judges_epochs() const {
    return !parts_.task.is_noise && parts_.task.is_learnable && !parts_.start.has_trained_weights;
  }

  // Returns why the epoch that ends after `done` steps shows that the run diverges; empty if it does not, or if the
  // epoch is not judged.
  std::string epoch_fault(const StepSums& epoch, int64_t done) {
    const int64_t whole = done - parts_.plan.epoch_begin(done - 1);
    if (epoch.steps < whole || !judges_epochs()) return "";
    const int64_t number = std::llround(parts_.plan.epochs(done));
    return watch_.epoch(number, done, epoch.steps, epoch.loss / static_cast<double>(epoch.steps));
  }

  void note(const std::string& text) {
    if (!text.empty() && !parts_.task.is_noise) parts_.observer.note(text);
  }

  const LoopParts& parts_;
  LearningWatch watch_;
  StepSums epoch_;                 // losses of the current epoch
  std::optional<StepSums> ended_;  // losses of an epoch that has ended and is not judged yet
  int64_t restored_ = 0;           // number of earlier steps that restore() has passed
  bool told_keep_going_ = false;   // true once it was noted that the run continues although it diverges
};

}  // namespace

std::unique_ptr<Instrument> make_learning_judge(const LoopParts& parts) {
  return std::make_unique<LearningJudge>(parts);
}

}  // namespace kb
