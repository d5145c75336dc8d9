#include "recipes/train/training_means.h"

namespace kb {

void TrainingMeans::restore(const FlatJson& line) {
  if (is_evaluation(line)) since_evaluation_ = {};
  if (!is_step(line)) return;
  const double loss = loss_of(line);
  const std::vector<double> means = means_of(line, parts_.metrics.training);
  since_evaluation_.add(loss, means);
  if (step_of(line) >= parts_.plan.epoch_begin(parts_.start.step)) epoch_.add(loss, means);
}

void TrainingMeans::stepped(const ReportedStep& reported) {
  since_evaluation_.add(reported.metrics.loss, reported.metrics.means);
  epoch_.add(reported.metrics.loss, reported.metrics.means);
}

std::optional<Evaluation> TrainingMeans::mean(const StepSums& sums) const {
  return sums.mean(parts_.metrics.training, parts_.plan.phase(parts_.phase).minibatch);
}

}  // namespace kb
