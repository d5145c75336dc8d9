#include "recipes/train/progress_report.h"

#include <algorithm>

namespace kb {

void ProgressReport::stepped(const ReportedStep& reported) {
  if (!parts_.observer.wants_progress()) return;
  const StepMetrics& m = reported.metrics;
  const int64_t done = m.step + 1, end = std::min(last_step_, done + parts_.schedule.steps_left(done));
  const double seconds = reported.train_seconds / static_cast<double>(done - parts_.start.step);
  parts_.observer.progress({.step = done,
                            .steps = end,
                            .epoch = parts_.plan.epochs(done),
                            .epochs = parts_.plan.epochs(end),
                            .loss = m.loss,
                            .learning_rate = m.lr,
                            .best = best_.figure(),
                            .samples_per_second = static_cast<double>(parts_.plan.minibatch_at(m.step)) / seconds,
                            .seconds_left = static_cast<double>(end - done) * seconds,
                            .data_wait_ms = m.data_wait_ms});
}

}  // namespace kb
