// Trains a task in a function call, which prints nothing and has no global state, so that a process can train several
// times.
#pragma once
#include <vector>

#include "recipes/config/learning.h"
#include "recipes/train/loaded_programs.h"
#include "recipes/train/loop_result.h"
#include "recipes/train/machine.h"
#include "recipes/train/observer.h"
#include "recipes/train/settled.h"

namespace kb {

// The state of a training after `step` steps: parameters, optimizer state and running statistics by name, and
// AdaScale's state if the learning rate needs it.
struct TrainingState {
  int64_t step = 0;
  std::vector<NamedTensor> tensors;
  std::string schedule = {};  // RunSchedule::state(); empty without AdaScale
};

struct Result {
  LoopResult loop;      // how it ended, its evaluations and times
  TrainingState state;  // empty if the observer does not want it (Observer::wants_state)
};

// A training before its first step. Its programs are loaded, and their store holds the state from which it begins.
struct Ready {
  const Task& task;  // has its sources
  const Settled& settled;
  Machine machine;
  LoadedPrograms& programs;
};

// Collective call: every process of the machine's world calls it with the same task, configuration and state. Trains
// the task as `config` says, from the state `from` if it is given. A training that continues from an earlier training's
// state computes the same bits as the earlier one would have. A training that diverges ends with Ending::diverged
// (run_training_loop). Throws Error for a mistake in the model or in `config`, whose message names the member, such as
// "batch.per_worker". Passes on what an observer throws.
Result train(const Task& task, const TrainConfig& config, Machine machine, Observer& observer,
             const TrainingState* from = nullptr);

}  // namespace kb
