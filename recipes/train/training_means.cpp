#include "recipes/train/instruments.h"

namespace kb {
namespace {

// Reports the means of loss and training metrics over the steps since the last evaluation, and over the steps of an
// epoch. Steps weigh alike, whatever their samples or tokens: metrics.jsonl, from which a resumed run restores the
// sums, has no counts of tokens.
class TrainingMeans : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit TrainingMeans(const LoopParts& parts) : parts_(parts) {}

  void restore(const FlatJson& line) override {
    if (is_evaluation(line)) since_evaluation_ = {};
    if (!is_step(line)) return;
    const double loss = loss_of(line);
    const std::vector<double> means = means_of(line, parts_.metrics.training);
    since_evaluation_.add(loss, means);
    if (step_of(line) >= parts_.plan.epoch_begin(parts_.start.step)) epoch_.add(loss, means);
  }

  void stepped(const ReportedStep& reported) override {
    since_evaluation_.add(reported.metrics.loss, reported.metrics.means);
    epoch_.add(reported.metrics.loss, reported.metrics.means);
  }

  void add_to_epoch(EpochMetrics& metrics) override { metrics.training = mean(epoch_); }
  void epoch_ended() override { epoch_ = {}; }
  void add_to_evaluation(EvaluationReport& report) override { report.training = mean(since_evaluation_); }
  void evaluated(const ReportedEvaluation&) override { since_evaluation_ = {}; }

 private:
  std::optional<Evaluation> mean(const StepSums& sums) const {
    return sums.mean(parts_.metrics.training, parts_.plan.phase(parts_.phase).minibatch);
  }

  const LoopParts& parts_;
  StepSums since_evaluation_, epoch_;
};

}  // namespace

std::unique_ptr<Instrument> make_training_means(const LoopParts& parts) {
  return std::make_unique<TrainingMeans>(parts);
}

}  // namespace kb
