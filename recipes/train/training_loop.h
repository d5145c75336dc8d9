// The training loop: takes steps, evaluates, reports to the observer, and decides when the training ends. It calls:
//
//   begin()                      saves the model of the start; after a resume also makes an evaluation that is due and
//                                missing, and a checkpoint that is missing
//   while goes_on()              no instrument wants an end, and steps are left
//     Instrument::before()       enlarges the minibatch, or checks a step before it is taken
//     StepRunner::take()         takes the step with the virtual workers of this process
//     StepReports::until()       reports the results of earlier steps to the observer, then to the instruments
//     after_step()               ends an epoch, evaluates, makes a checkpoint
//   end()                        makes a checkpoint, evaluates, and evaluates on the test part
#pragma once
#include "recipes/train/loop_result.h"
#include "recipes/train/parts.h"

namespace kb {

// Takes steps until the schedule is over, length.stop_at or length.target ends the training, or a signal or the
// observer asks to stop. A stop abandons the step or evaluation in progress, which has then changed no state, unless
// all processes have already agreed to finish it (World::begin).
//
// The observer saves the model at the start and after each evaluation. It makes a checkpoint at each evaluation that
// is due, as judging.save_every asks, and at the end.
//
// The training ends as diverged, after the same step in all processes, if a loss or the state is not finite. Unless
// judging.keep_going is set, it also does if a whole epoch after the warmup has a mean loss of at least
// kLearningShare times the loss of step 0 (LearningWatch::epoch); this is not judged for noise, nor if the run began
// with trained weights. The result names the op that made the first value that is not finite if this was in the run's
// first step, and with judging.check_finite in any step. Throws Error if a file cannot be written.
LoopResult run_training_loop(LoopParts parts);

}  // namespace kb
