// How a training ended, and what it gave.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "recipes/train/best_state.h"
#include "recipes/train/evaluation.h"

namespace kb {

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
  bool is_cut = false;                  // ended by length.stop_at
  std::optional<TargetReached> target;  // nothing: it was not reached, or none was asked for
  bool is_diverged = false;             // it ended as diverged, or was diverging at its end (LearningWatch)
  std::string reason;        // text for a person: why the run diverged, what is kept, a hint; empty: it did not
  double train_seconds = 0;  // seconds of training, without evaluations
  double host_seconds = 0;   // time that the host took to begin the steps, without waiting for data
  std::optional<Evaluation> evaluation;  // evaluates the final parameters on `part`
  std::optional<Evaluation> averaged;    // evaluates the averaged parameters on `part`
  const char* part = kTestPart;          // kValidPart where samples are held out and the run was stopped
  std::optional<BestState> best;         // chosen by the evaluations in its course
  std::string schedule_state;            // RunSchedule::state() at the end
  std::optional<double> iterations;      // scale-invariant ones that are done, with AdaScale
};

}  // namespace kb
