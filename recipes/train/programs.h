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
  std::string name = {};
  std::string text = {};
  std::string program = {};  // ProgramSpec::name, where it is about a pass
  bool is_pass = false;      // the graph around a pass
};

// The use of a program: a step of training; an evaluation, of the parameters or of their averages; an estimate of
// batch norm's running statistics.
enum class Use : uint8_t { update, evaluate, evaluate_averages, estimate };

// A program as it is declared, before it is compiled.
struct ProgramSpec {
  std::string name = {};  // its dumps' files are named after it: "train"
  Use use = Use::update;
  size_t phase = 0;  // phase of the plan whose minibatch an update has
  Graph graph{};
  CompileOptions options = {};
  int64_t rows = 0;  // rows of the tables that its fields are gathered from; 0: batches are sent
};

struct CompiledProgram {
  std::string name = {};
  Use use = Use::update;
  size_t phase = 0;
  Compiled compiled = {};
};

struct Programs {
  std::vector<CompiledProgram> list = {};  // the first update first: its parameter space is that of all
  ComputedMetrics metrics = {};
  int64_t parameters = 0;                // elements
  std::vector<std::string> unused = {};  // names of parameters that never learn
  std::string training_text = {};        // the graph of a step as the model gave it
  std::vector<DumpFile> dumps = {};      // the texts that were asked for

  // Returns null where there is no such program.
  Compiled* find(Use use, size_t phase = 0);
  const Compiled* find(Use use, size_t phase = 0) const;
  Compiled& update() { return list.front().compiled; }
  const Compiled& update() const { return list.front().compiled; }
  const Compiled& evaluate() const { return *find(Use::evaluate); }
};

// Returns all programs, the training step first.
std::vector<const Compiled*> all_of(const Programs& programs);

// Declares the programs of a training, the first update first; sets everything in `facts` but what compiling gives.
// Throws Error for a mistake in the model.
std::vector<ProgramSpec> programs_of(const Task& task, const Settled& settled, Programs& facts);

// Compiles the programs of a training. Throws Error for a mistake in the model. The residency changes no
// hash; the program of statistics is sent its few batches. `dump`: texts to keep. A training step computes activations
// again where the device's memory does not take them beside all programs.
Programs compile_programs(const Task& task, const Settled& settled, const std::vector<Dump>& dump = {});

// Throws Error where the model has no metric as length.target names it, where no training can be better than the
// figure, and where it names averaged parameters that are not evaluated.
void check_target(const TrainConfig& config, const Task& task);

// Returns how the training step is compiled: losses, the rule and the parameters of each group, workers, precision.
CompileOptions training_options(const Task& task, const std::vector<Objective>& objectives, const Settled& settled,
                                const BatchPlan& batch);

// Returns the groups of parameters that the losses move, in the order in which they name them.
std::vector<std::string> groups_of(const std::vector<Objective>& objectives);
std::vector<std::string> groups_of(const Task& task);

// The training step alone.
Compiled compile_training(const Task& task, const Settled& settled);

// The losses and gradients of a step on one worker, each value with a probe; it works on the state of the training
// program, whose `space` that is, and writes nothing.
struct CheckProgram {
  Compiled compiled = {};
  Probes probes;
};
CheckProgram compile_check(const Task& task, const Settled& settled, const ParameterSpace& space);

struct LoadedProgram {
  Use use = Use::update;
  size_t phase = 0;
  std::unique_ptr<Session> session = {};
};

// The programs on a device, which share one arena, and the state that they work on: initial values of `seed` at first.
struct LoadedPrograms {
  LoadedPrograms(Backend& backend, Programs compiled, uint32_t seed);

  // Returns null where there is no such program.
  Session* find(Use use, size_t phase = 0) const;
  Session& update() const { return *list.front().session; }
  Session& evaluate() const { return *find(Use::evaluate); }
  std::vector<Session*> updates() const;  // one for every phase of the plan

  int64_t parameters;  // this and the next four: see Programs
  std::vector<std::string> unused;
  std::string training_text;
  ComputedMetrics metrics;
  std::vector<DumpFile> dumps;
  StateStore store;
  std::vector<LoadedProgram> list;  // in the order of Programs::list
};

std::vector<const Compiled*> all_of(const LoadedPrograms& programs);

}  // namespace kb
