// Ends a training at the first evaluation that reaches length.target or the error of length.stop_at.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

// Returns whether the evaluation of the parameters, or that of the averaged ones where the target names it, is better
// than the target.
bool reaches(const TargetFigure& target, const Evaluation& evaluation, const std::optional<Evaluation>& averaged);

// Only an evaluation that is due can reach length.target. An interrupted run evaluates its last state too, but the step
// at which it was interrupted must not change the result.
class Goals : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit Goals(const LoopParts& parts) : parts_(parts) {}

  void restore(const FlatJson& line) override;
  void evaluated(const ReportedEvaluation& reported) override { judge(reported); }
  std::optional<EndWish> wants(int64_t done) override;
  void tell(LoopResult& result) const override { result.target = target_; }

 private:
  void judge(const ReportedEvaluation& reported);

  const LoopParts& parts_;
  bool is_reached_ = false;  // true if length.target or the error of length.stop_at is reached
  std::optional<TargetReached> target_;
};

}  // namespace kb
