// Place of a training in its learning-rate schedule: AdaScale's gains, which follow from the norms of the steps, and
// the hash by which a checkpoint knows the schedule.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/schedule_hash.h"

namespace kb {

// Its own part of a resumed run is in the checkpoint: RunSchedule::state().
class ScheduleLog : public Instrument {
 public:
  // `parts`, whose schedule it moves on, must outlive it.
  explicit ScheduleLog(LoopParts& parts) : schedule_(parts.schedule), hash_(parts.schedule.scalars()) {}

  void add_to_step(StepMetrics& metrics, int) override { metrics.scaled = schedule_.scaled(metrics.step); }
  void stepped(const ReportedStep& reported) override { schedule_.take(reported.metrics.norms); }
  void add_to_epoch(EpochMetrics& metrics) override { metrics.gain = gain_before(metrics.step); }
  void add_to_evaluation(EvaluationReport& report) override { report.gain = gain_before(report.step); }
  void state(CheckpointCursor& cursor) override;
  void tell(LoopResult& result) const override;

 private:
  std::optional<double> gain_before(int64_t done) const;

  RunSchedule& schedule_;
  ScheduleHash hash_;  // goes on from checkpoint to checkpoint
};

}  // namespace kb
