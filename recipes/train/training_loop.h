// The training loop: batches in, steps, evaluations, metrics out; how it ended.
//
//   begin                       the model of the start; an evaluation and a checkpoint where they are due and not there
//   while it goes on            no instrument wants an end, and steps are left
//     instruments: before       the minibatch grows; a step is checked before it is taken
//     StepRunner: take          the step, by the virtual workers of this process
//     StepReports: until        what earlier steps gave, to the observer, then to the instruments
//     after the step            the end of an epoch; Evaluations: run; Checkpoints: save
//   end                         checkpoint, evaluation, test part
#pragma once
#include "recipes/train/checkpoints.h"
#include "recipes/train/evaluations.h"
#include "recipes/train/instruments.h"
#include "recipes/train/loop_result.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"
#include "recipes/train/step_reports.h"
#include "recipes/train/step_runner.h"

namespace kb {

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopParts parts);

  // Steps until the plan is done, length.stop_at or length.target ends it or a signal asks to stop (World::begin): a
  // step or an evaluation that is under way is then left, where no process has begun what ends it, and has changed
  // nothing. model.safetensors holds the parameters that were evaluated last, at first those of the start. A checkpoint
  // is made at every evaluation, every judging.save_every steps, and at the end. Ends as diverged, in all processes
  // after the same step, where the loss or the state is not finite, and without judging.keep_going where a whole epoch
  // after the warmup has a mean loss that is no better than kLearningShare of that of step 0 (not where it began with
  // trained weights, nor for noise). The op that made the first value that is not finite is named where that is in the
  // first step, and with judging.check_finite in any. Throws Error where a file cannot be written.
  LoopResult run();

 private:
  void restore();
  void begin();
  bool goes_on();
  void take_step();
  bool prepare(int64_t step);
  void after_step(int64_t done);
  void evaluate(bool may_stop);
  void save_model();
  void save_checkpoint();
  void end();
  void diverge(const Fault& fault);
  void tell();

  LoopParts parts_;
  StepFeed feed_;
  const Instruments instruments_;
  StepRunner runner_;
  StepReports reports_;
  Evaluations evaluations_;
  Checkpoints checkpoints_;
  const int64_t last_step_;  // steps after which it ends at the latest
  int64_t saved_at_ = -1;    // steps done when model.safetensors was written
  LoopResult result_;
};

}  // namespace kb
