// The result of a training: how it ended, its evaluations and its times.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "recipes/train/evaluation.h"

namespace kb {

// The best state of a training so far, judged by the goal of the evaluations in its course. Among equal states it is
// the earliest.
struct BestState {
  int64_t step = 0;                // steps done
  Evaluation evaluation;           // the evaluation by which the state was chosen
  std::optional<Evaluation> test;  // evaluation of the state on the test part, if another part chose the state
};

// Returns the figure by which states are compared: the first metric, or the loss if there is no metric.
Figure judged_figure(const Evaluation& evaluation);

// Returns whether an evaluation is better than the best state's, `than`; any finite figure is better than none. A
// figure that is not finite is never better.
bool is_better(const Evaluation& evaluation, const std::optional<BestState>& than);

enum class Ending : uint8_t { finished, interrupted, diverged };

// The evaluation that reached length.target.
struct TargetReached {
  int64_t step = 0;     // steps done
  int64_t samples = 0;  // samples seen
  double epochs = 0;    // epochs done
};

struct LoopResult {
  Ending ending = Ending::finished;
  int64_t steps = 0;                    // steps done
  bool is_cut = false;                  // true if length.stop_at ended the training before its schedule did
  std::optional<TargetReached> target;  // set if length.target was reached
  bool is_diverged = false;             // true if it ended as diverged, or was diverging at its end (LearningWatch)
  // Text for a person: why the training diverged, what is kept, a hint. Empty unless it ended as diverged.
  std::string reason;
  double train_seconds = 0;              // seconds of training, without evaluations
  double host_seconds = 0;               // seconds that the host took to begin the steps, without waiting for data
  std::optional<Evaluation> evaluation;  // evaluation of the final parameters on `part`, if it was made
  std::optional<Evaluation> averaged;    // that of their averages, if those are evaluated too (judging.eval_ema)
  // Part of the data on which the last evaluation was made. It is kValidPart if samples are held out and either the run
  // did not finish or there is no test part.
  const char* part = kTestPart;
  std::optional<BestState> best;     // best state by the evaluations in the course of the training
  std::string schedule_state;        // RunSchedule::state() at the end
  std::optional<double> iterations;  // with AdaScale: number of scale-invariant iterations done
};

}  // namespace kb
