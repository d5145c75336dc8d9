// The compiled programs of a recipe: the training step and the evaluation, which share parameters.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/probe.h"
#include "compiler/pipeline/pipeline.h"
#include "recipes/config/dump.h"
#include "recipes/task/task.h"
#include "recipes/train/settled.h"

namespace kb {

// A file to write: its name in the run folder, and its text.
struct DumpFile {
  std::string name;
  std::string text;
};

struct Programs {
  Compiled training, inference;
  std::optional<Compiled> statistics;  // of batch norm; where judging.recompute_bn asks for it
  std::optional<Compiled> averaged;    // inference with the averaged parameters; for judging.eval_ema
  std::vector<Compiled> grown;         // training steps of the plan's later phases, with larger minibatches
  ComputedMetrics metrics;
  int64_t parameters = 0;           // elements
  std::vector<std::string> unused;  // names of parameters that never learn
  std::string training_text;        // the graph of a step as the model gave it
  std::vector<DumpFile> dumps;      // the texts that were asked for
};

// Returns all programs, the training step first.
std::vector<const Compiled*> all_of(const Programs& programs);

// Builds, checks and compiles the graphs. Throws Error for a mistake in the model. The residency changes no
// hash; the program of statistics is sent its few batches. `dump`: texts to keep. A training step computes activations
// again where the device's memory does not take them beside all programs.
Programs compile_programs(const Task& task, const Settled& settled, const std::vector<Dump>& dump = {});

// Throws Error where the model has no metric as the target names it, and where no training can be better than the
// figure.
void check_target(const std::optional<TargetFigure>& target, const Task& task);

// How the training step is compiled: the rule of the run's optimizer, which parameters it spares, workers, precision.
CompileOptions training_options(const Task& task, const Settled& settled, const BatchPlan& batch);

// The training step alone.
Compiled compile_training(const Task& task, const Settled& settled);

// The losses and gradients of a step on one worker, each value with a probe; it works on the state of the training
// program, whose `space` that is, and writes nothing.
struct CheckProgram {
  Compiled compiled;
  Probes probes;
};
CheckProgram compile_check(const Task& task, const Settled& settled, const ParameterSpace& space);

// The programs on a device, and what they work on: initial values of `seed` at first.
struct LoadedPrograms {
  LoadedPrograms(Backend& backend, Programs compiled, uint32_t seed);

  int64_t parameters;  // as in Programs, as the next four
  std::vector<std::string> unused;
  std::string training_text;
  ComputedMetrics metrics;
  std::vector<DumpFile> dumps;
  StateStore store;
  Session training, inference;
  std::unique_ptr<Session> statistics, averaged;  // null where there is none
  std::vector<std::unique_ptr<Session>> grown;
};

std::vector<const Compiled*> all_of(const LoadedPrograms& programs);

}  // namespace kb
