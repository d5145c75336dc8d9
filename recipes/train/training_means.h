// Reports the means of loss and training metrics over the steps since the last evaluation, and over the steps of an
// epoch. Steps weigh alike, whatever their samples or tokens: metrics.jsonl, from which a resumed run restores the
// sums, has no counts of tokens.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class TrainingMeans : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit TrainingMeans(const LoopParts& parts) : parts_(parts) {}

  void restore(const FlatJson& line) override;
  void stepped(const ReportedStep& reported) override;
  void add_to_epoch(EpochMetrics& metrics) override { metrics.training = mean(epoch_); }
  void epoch_ended() override { epoch_ = {}; }
  void add_to_evaluation(EvaluationReport& report) override { report.training = mean(since_evaluation_); }
  void evaluated(const ReportedEvaluation&) override { since_evaluation_ = {}; }

 private:
  std::optional<Evaluation> mean(const StepSums& sums) const;

  const LoopParts& parts_;
  StepSums since_evaluation_, epoch_;
};

}  // namespace kb
