// Ends a training at the first evaluation that reaches a figure: length.target, or the error of length.stop_at.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

// Returns whether the evaluation of the parameters, or that of the averaged ones where the target names it, is better
// than the target.
bool reaches(const TargetFigure& target, const Evaluation& evaluation, const std::optional<Evaluation>& averaged);

// An evaluation that is not due reaches no target: where a run is stopped changes nothing of it.
class Goals : public Instrument {
 public:
  // `parts` must outlive it.
  explicit Goals(const LoopParts& parts) : parts_(parts) {}

  void restore(const FlatJson& line) override;
  void evaluated(const ReportedEvaluation& reported) override { judge(reported); }
  std::optional<EndWish> wants(int64_t done) override;
  void tell(LoopResult& result) const override { result.target = target_; }

 private:
  void judge(const ReportedEvaluation& reported);

  const LoopParts& parts_;
  bool is_reached_ = false;  // one of the two figures
  std::optional<TargetReached> target_;
};

}  // namespace kb
