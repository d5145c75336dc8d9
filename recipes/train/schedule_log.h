// Reports and advances a training's place in its learning-rate schedule: gives AdaScale the gradient norms of each
// step, logs the gains that follow, and adds state and hash of the schedule to checkpoints.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/schedule_hash.h"

namespace kb {

// It does not override restore(): a resumed run gets the schedule's state from its checkpoint (RunSchedule::state).
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
  void state(CheckpointCursor& cursor) override;
  void tell(LoopResult& result) const override;

 private:
  std::optional<double> gain_before(int64_t done) const;

  RunSchedule& schedule_;
  ScheduleHash hash_;  // continued from checkpoint to checkpoint, not computed anew
};

}  // namespace kb
