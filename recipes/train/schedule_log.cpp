#include "recipes/train/instruments.h"
#include "recipes/train/run_schedule.h"

namespace kb {
namespace {

// Reports and advances a training's place in its learning-rate schedule: gives AdaScale the gradient norms of each
// step, logs the gains that follow, and adds state and hash of the schedule to checkpoints. It does not override
// restore(): a resumed run gets the schedule's state from its checkpoint (RunSchedule::state).
class ScheduleLog : public Instrument {
 public:
  // Advances the schedule of `parts`, which must outlive this object.
  explicit ScheduleLog(LoopParts& parts) : schedule_(parts.schedule), hash_(parts.schedule.scalars()) {}

  void add_to_step(StepMetrics& metrics, const StepOutputs&) override {
    metrics.scaled = schedule_.scaled(metrics.step);
  }
  void stepped(const ReportedStep& reported) override { schedule_.take(reported.metrics.norms); }
  void add_to_epoch(EpochMetrics& metrics) override { metrics.gain = gain_before(metrics.step); }
  void add_to_evaluation(EvaluationReport& report) override { report.gain = gain_before(report.step); }

  void state(CheckpointCursor& cursor) override {
    cursor.schedule_sha256 = hash_.up_to(schedule_.position(cursor.step));
    cursor.schedule_state = schedule_.state();
  }

  void tell(LoopResult& result) const override {
    if (result.ending == Ending::diverged) return;
    result.schedule_state = schedule_.state();
    if (const std::optional<ScaledStep> next = schedule_.scaled(result.steps)) result.iterations = next->iterations;
  }

 private:
  // Returns the gain of the last of `done` steps; nothing without AdaScale, or if `done` is 0.
  std::optional<double> gain_before(int64_t done) const {
    if (done == 0) return std::nullopt;
    const std::optional<ScaledStep> scaled = schedule_.scaled(done - 1);
    return scaled ? std::optional(scaled->gain) : std::nullopt;
  }

  RunSchedule& schedule_;
  ScheduleHash hash_;  // continued from checkpoint to checkpoint, not computed anew
};

}  // namespace

std::unique_ptr<Instrument> make_schedule_log(LoopParts& parts) { return std::make_unique<ScheduleLog>(parts); }

}  // namespace kb
