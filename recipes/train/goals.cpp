#include "recipes/train/instruments.h"

namespace kb {
namespace {

// Ends a training at the first evaluation that reaches length.target or the error of length.stop_at.
// Only an evaluation that is due can reach length.target. An interrupted run evaluates its last state too, but the step
// at which it was interrupted must not change the result.
class Goals : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit Goals(const LoopParts& parts) : parts_(parts) {}

  // Forgets a goal that was reached when a step or another evaluation follows: then the run went on after it.
  void restore(const FlatJson& line) override {
    if (is_step(line) || is_evaluation(line)) {
      is_reached_ = false;
      target_.reset();
    }
    if (!is_evaluation(line)) return;
    const std::vector<NamedMetric>& metrics = parts_.metrics.test;
    judge({parts_.start.step, evaluation_of(line, metrics), averaged_of(line, metrics), true});
  }

  void evaluated(const ReportedEvaluation& reported) override { judge(reported); }
  std::optional<EndWish> wants(int64_t) override { return is_reached_ ? std::optional(EndWish{}) : std::nullopt; }
  void tell(LoopResult& result) const override { result.target = target_; }

 private:
  void judge(const ReportedEvaluation& reported) {
    const Length& length = parts_.config.length;
    const Figure* goal = reported.evaluation.goal();
    if (goal && goal->kind.is_share && length.stop_at.is_reached(goal->value)) is_reached_ = true;
    if (!length.target || !reported.is_due) return;
    if (!reaches(*length.target, reported.evaluation, reported.averaged)) return;
    target_ = {reported.done, parts_.plan.samples_in(reported.done), parts_.plan.epochs(reported.done)};
    is_reached_ = true;
  }

  const LoopParts& parts_;
  bool is_reached_ = false;  // true if length.target or the error of length.stop_at is reached
  std::optional<TargetReached> target_;
};

}  // namespace

std::unique_ptr<Instrument> make_goals(const LoopParts& parts) { return std::make_unique<Goals>(parts); }

}  // namespace kb
