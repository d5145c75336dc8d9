// Notes what is odd about a training's losses and errors, and ends a training whose epochs learn nothing
// (learning_watch.h).
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/learning_watch.h"
#include "recipes/train/parts.h"

namespace kb {

class LearningJudge : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit LearningJudge(const LoopParts& parts);

  void restore(const FlatJson& line) override;
  void stepped(const ReportedStep& reported) override;
  void epoch_ended() override;
  void evaluated(const ReportedEvaluation& reported) override;
  // Judges the epoch that has just ended, if any. With judging.keep_going it never asks for an end, but notes once that
  // the run continues although it diverges.
  std::optional<EndWish> wants(int64_t done) override;
  void tell(LoopResult& result) const override { result.is_diverged |= watch_.is_diverging(); }

 private:
  bool judges_epochs() const;
  std::string epoch_fault(const StepSums& epoch, int64_t done);
  void note(const std::string& text);

  const LoopParts& parts_;
  LearningWatch watch_;
  StepSums epoch_;                 // losses of the current epoch
  std::optional<StepSums> ended_;  // losses of an epoch that has ended and is not judged yet
  int64_t restored_ = 0;           // number of earlier steps that restore() has passed
  bool told_keep_going_ = false;   // true once it was noted that the run continues although it diverges
};

}  // namespace kb
