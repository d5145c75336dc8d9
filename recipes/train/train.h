// A training as a function call: several in one process, nothing printed, nothing global.
#pragma once
#include <vector>

#include "recipes/train/machine.h"
#include "recipes/train/observer.h"
#include "recipes/train/programs.h"
#include "recipes/train/settled.h"
#include "recipes/train/training_loop.h"

namespace kb {

// Parameters, optimizer state and running statistics after `step` steps, under their names; with AdaScale its place in
// the schedule, too.
struct TrainingState {
  int64_t step = 0;
  std::vector<NamedTensor> tensors;
  std::string schedule = {};  // RunSchedule::state()
};

struct Result {
  LoopResult loop;  // how it ended, its evaluations and times
  TrainingState state;
};

// A training before its first step: its programs are loaded, and the store holds the state to begin with.
struct Ready {
  const Task& task;  // with its sources
  const Settled& settled;
  Machine machine;
  LoadedPrograms& programs;
};

// Trains the task as `config` says. Begins at `from` where it is given, and gives the bits that the training it comes
// from would have given. A training that diverges ends as Ending::diverged (TrainingLoop::run). Throws Error for a
// mistake in model or config, which names the member ("batch.per_worker"), and what an observer throws. A collective
// call: every process of the machine's world makes it, with the same task, config and state.
Result train(const Task& task, const TrainConfig& config, Machine machine, Observer& observer,
             const TrainingState* from = nullptr);

}  // namespace kb
