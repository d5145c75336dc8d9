// Tells what is odd about a training's losses and errors, and ends one whose epochs learn nothing (learning_watch.h).
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/learning_watch.h"
#include "recipes/train/parts.h"

namespace kb {

class LearningJudge : public Instrument {
 public:
  // `parts` must outlive it.
  explicit LearningJudge(const LoopParts& parts);

  void restore(const FlatJson& line) override;
  void stepped(const ReportedStep& reported) override;
  void epoch_ended() override;
  void evaluated(const ReportedEvaluation& reported) override;
  // Judges an epoch that ended with these steps. Asks nothing with judging.keep_going, which is told once.
  std::optional<EndWish> wants(int64_t done) override;
  void tell(LoopResult& result) const override { result.is_diverged |= watch_.is_diverging(); }

 private:
  bool judges_epochs() const;
  std::string epoch_fault(const StepSums& epoch, int64_t done);
  void note(const std::string& text);

  const LoopParts& parts_;
  LearningWatch watch_;
  StepSums epoch_;                 // losses of the epoch under way
  std::optional<StepSums> ended_;  // losses of an epoch that was not judged yet
  int64_t restored_ = 0;           // steps of the past that were taken
  bool told_keep_going_ = false;   // that the run goes on though it diverges
};

}  // namespace kb
