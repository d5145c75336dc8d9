// Reports and advances a training's place in its learning-rate schedule: gives AdaScale the gradient norms of each
// step, logs the gains that follow, and adds state and hash of the schedule to checkpoints.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/run_scalars.h"
#include "runtime/sha256.h"

namespace kb {

// Computes SHA-256 over the scalars of the schedule's first steps. Two schedules have the same hash if they agree in
// all steps so far. With AdaScale these are steps of the schedule, not of the run.
class ScheduleHash {
 public:
  explicit ScheduleHash(RunScalars scalars) : scalars_(std::move(scalars)) {}
  // Returns the hash, in hexadecimal, of the first `step` steps. `step` must not decrease from call to call.
  std::string up_to(int64_t step);

 private:
  RunScalars scalars_;
  Sha256 hash_;
  int64_t next_ = 0;  // first step that is not hashed yet
};

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
