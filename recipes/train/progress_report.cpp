#include <algorithm>

#include "recipes/train/best_keeper.h"
#include "recipes/train/instruments.h"

namespace kb {
namespace {

// Tells the observer after every step how far the training has come, if the observer wants to know.
class ProgressReport : public Instrument {
 public:
  // Both must outlive this object.
  ProgressReport(const LoopParts& parts, const BestKeeper& best)
      : parts_(parts), best_(best), last_step_(last_step(parts.config.length.stop_at, parts.plan)) {}

  void stepped(const ReportedStep& reported) override {
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

 private:
  const LoopParts& parts_;
  const BestKeeper& best_;
  const int64_t last_step_;  // number of steps after which the training ends at the latest
};

}  // namespace

std::unique_ptr<Instrument> make_progress_report(const LoopParts& parts, const BestKeeper& best) {
  return std::make_unique<ProgressReport>(parts, best);
}

}  // namespace kb
