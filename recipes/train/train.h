// A training as a function call: several in one process, nothing printed, nothing global.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "recipes/train/device.h"
#include "recipes/train/observer.h"
#include "recipes/train/training_loop.h"

namespace kb {

// A device, and the processes that share a training. Both outlive the training; the backend knows the communicator.
struct Machine {
  Backend& backend;
  World& world;
};

// This process alone, on its processors.
class LocalMachine {
 public:
  // `threads`: as --threads; 0: one a processor that the process may use. Throws Error for a number that the flag
  // refuses.
  explicit LocalMachine(int threads = 0);
  operator Machine() { return {*backend_, world_}; }

 private:
  World world_;
  std::unique_ptr<Backend> backend_;
};

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

// Trains the task, whose sources are set, as `config` says: minibatch, epochs or steps, optimizer, learning rate,
// precision, workers; names of data sets, files and folders are not looked at. Begins at `from` where it is given, and
// gives the bits that the training it comes from would have given. A training that diverges ends as
// Ending::diverged (TrainingLoop::run). Throws Error for a mistake in model or config, and what an observer throws. A
// collective call: every process of the machine's world makes it, with the same task, config and state.
Result train(const Task& task, const RunConfig& config, Machine machine, Observer& observer,
             const TrainingState* from = nullptr);

// A training that is compiled and loaded; all must outlive the call of run_loop().
struct Prepared {
  const Task& task;
  const RunConfig& config;
  const RunPlan& plan;
  Machine machine;
  LoadedPrograms& programs;
  int loader_threads = 0;            // 0: a step fills its own minibatch
  std::function<void()> load_state;  // puts the state of the start into the store
};
LoopResult run_loop(const Prepared& prepared, const LoopStart& start, Observer& observer);

}  // namespace kb
