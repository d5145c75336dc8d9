// Declares, compiles and loads the programs of a training: training steps, evaluations and the estimate of batch norm's
// statistics, which share parameters.
#pragma once
#include <string>
#include <vector>

#include "compiler/passes/probe.h"
#include "compiler/pipeline/pipeline.h"
#include "recipes/task/task.h"
#include "recipes/train/program_dumps.h"
#include "recipes/train/settled.h"

namespace kb {

// The use of a program. update: a training step. evaluate, evaluate_averages: an evaluation of the parameters, or of
// their averages. estimate: an estimate of batch norm's running statistics. replica: a training step of a replica of
// local training, or the gradient of a worker of its own parameters. join: the end of a round (recipes/train/join.h).
// apply: an update by gradients of such workers (recipes/train/worker_gradient.h).
enum class Use : uint8_t { update, evaluate, evaluate_averages, estimate, replica, join, apply };

// A program as it is declared, before it is compiled.
struct ProgramSpec {
  std::string name = {};  // part of the names of dumped files, such as "train"
  Use use = Use::update;
  size_t phase = 0;   // phase of the plan in which an update runs; of an evaluation, RunPlan::judging_phase
  size_t bucket = 0;  // bucket of Settled::buckets to which its samples are padded
  Graph graph{};
  CompileOptions options = {};
  int64_t rows = 0;  // rows of the tables on the device from which fields are gathered; 0: batches are sent
};

struct CompiledProgram {
  std::string name = {};
  Use use = Use::update;
  size_t phase = 0, bucket = 0;
  Compiled compiled = {};
};

// Facts of a training's programs.
struct ProgramFacts {
  ComputedMetrics metrics = {};
  int64_t parameters = 0;                // number of elements of all parameters
  std::vector<std::string> unused = {};  // names of parameters that never learn, though no flag freezes them
  std::string training_text = {};        // text of a training step's graph before any pass
  std::vector<DumpFile> dumps = {};      // dumps that were asked for
};

struct Programs : ProgramFacts {
  // Begins with the first phase's first update, whose parameter space all share.
  std::vector<CompiledProgram> list = {};

  // Returns null if there is no such program.
  const Compiled* find(Use use, size_t phase = 0, size_t bucket = 0) const;
  Compiled& update() { return list.front().compiled; }
  const Compiled& update() const { return list.front().compiled; }
  const Compiled& evaluate() const { return *find(Use::evaluate); }
};

// Compiles the programs of a training, and keeps the texts that `dump` names. Hashes of graphs do not depend on the
// residency. The program that estimates statistics reads no tables, since it gets few batches. If all programs together
// take more than kFitShare of the device's memory, training steps compute some activations again in place of keeping
// them. Throws Error for a mistake in the model.
Programs compile_programs(const Task& task, const Settled& settled, const std::vector<Dump>& dump = {});

// Returns the options of a training step's compilation: losses, update rule and parameters of each group, workers and
// precision. Throws Error for groups that check_division() refuses (recipes/config/parameter_division.h).
CompileOptions training_options(const Task& task, const TrainingGraph& training, const Settled& settled,
                                const BatchPlan& batch);

// Compiles only the training step of the plan's first phase and of the first bucket.
Compiled compile_training(const Task& task, const Settled& settled);

// A program that computes the losses and gradients of a step on one virtual worker, with a probe for each value. It
// reads the training program's state and writes none. `space` is the training program's parameter space.
struct CheckProgram {
  Compiled compiled = {};
  Probes probes;
};
CheckProgram compile_check(const Task& task, const Settled& settled, size_t phase, size_t bucket,
                           const ParameterSpace& space);

// Returns the bytes of the processor's memory that programs take together, with the state of copies of the parameters
// and of the outer optimizer. It is that of rank 0, which has the copies of other processes, too, in the host's memory.
int64_t total_memory(const Programs& programs, const ParameterCopies& copies, Processor processor);

}  // namespace kb
