// The parts of a training that the loop, its instruments and the check for values that are not finite work on.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "data/order.h"
#include "recipes/config/learning.h"
#include "recipes/train/evaluate.h"
#include "recipes/train/join.h"
#include "recipes/train/observer.h"
#include "recipes/train/past_lines.h"
#include "recipes/train/run_schedule.h"
#include "recipes/train/settled.h"
#include "recipes/train/world.h"

namespace kb {

class FiniteCheck;

// Holds the programs and stores that local and asynchronous training add to those of synchronous steps; empty without.
struct CopyPrograms {
  // Training step of each replica, or gradient of each worker, for the first bucket, then for the next.
  std::vector<Session*> sessions = {};
  std::vector<StateStore*> stores = {};    // parameters, slots and running statistics of each copy of this process
  int64_t first = 0;                       // number of the first of them among the copies of all processes
  std::vector<StateStore*> gathered = {};  // rank 0 alone: those of every copy, which gather_copies() sets
  Session* join = nullptr;                 // ends a round of local training
  std::optional<JoinScalars> scalars = {};
  Session* apply = nullptr;  // updates the parameters by the gradients of workers
};

// The World::stop_reason() of a run that an observer ended. It is greater than every signal's number.
inline constexpr int kObserverStop = 1 << 16;

// Returns whether a run evaluates after `done` steps, because judging.eval_every asks for it or the schedule ends
// there.
bool evaluation_is_due(const Period& eval_every, const RunPlan& plan, const RunSchedule& schedule, int64_t done);

// The state from which a run begins or is resumed.
struct LoopStart {
  int64_t step = 0;                  // steps done before
  bool is_saved = true;              // whether the run has a checkpoint of that step; unused if step is 0
  bool has_trained_weights = false;  // true if the run began with trained weights
  std::string schedule_state = {};   // RunSchedule::state()
  int64_t updates_ahead = 0;         // RunSchedule::ahead()
  PastLines past = {};               // the run's metrics up to that step; empty if the run begins
  std::string order = {};            // the run's order.jsonl up to that step, or a later one; empty if it has none
  // Collective call. Returns the model in the run's checkpoint of a step; empty if there is no such checkpoint.
  std::function<std::vector<NamedTensor>(int64_t step)> saved_model = {};
  std::function<void()> load_state = {};  // loads this state into the store; may be called several times
};

// All objects referred to must outlive the loop.
struct LoopParts {
  const Settled& settled;
  const TrainConfig& config;
  const RunPlan& plan;
  BatchPlan batch;  // sharing of a step in the current phase and bucket
  RunSchedule schedule;
  const Task& task;    // has its sources
  int loader_threads;  // 0: the training thread fills each minibatch
  std::vector<Session*>
      sessions;  // training step of each phase of the plan and bucket, as LoadedPrograms::all() has them
  std::vector<Session*> inference;  // evaluation of each bucket, in each phase of the plan
  const ComputedMetrics& metrics;
  StateStore& store;
  World& world;
  Observer& observer;
  const LoopStart& start;
  Session* statistics;  // estimates batch norm's statistics before each evaluation (judging.recompute_bn), or null
  std::vector<Session*> averaged;  // evaluation of the averaged parameters (judging.eval_ema) likewise; or none
  // Makes the check of the steps of a phase and bucket.
  std::function<std::unique_ptr<FiniteCheck>(const LoopParts&, size_t phase, size_t bucket)> make_check;
  std::function<void()> restore;  // loads the state of the start into the store again
  CopyPrograms copies = {};
  // Connects the processes of an ordered training, of which `world` has this one alone; null: it has one process.
  Communicator* team = nullptr;
  size_t phase = 0, bucket = 0;  // phase of the plan and bucket to which the next step belongs
  bool uses_copies = false;      // whether replicas, or workers of their own parameters, take the steps
  Order order = {};              // order of the samples in this phase

  // Returns the programs that take the next step: one, or one a replica.
  std::span<Session* const> of_step() const {
    const size_t count = uses_copies ? copies.stores.size() : 1;
    return of_phase().subspan(bucket * count, count);
  }
  Session& training() const { return *of_step().front(); }
  // Returns the programs of the current phase, of_step() of the first bucket, then of the next.
  std::span<Session* const> of_phase() const {
    if (uses_copies) return copies.sessions;
    return in_phase(sessions, phase);
  }
  // Returns those of a phase, of programs that are listed for each phase and bucket.
  std::span<Session* const> in_phase(const std::vector<Session*>& all, size_t number) const {
    return std::span(all).subspan(number * settled.buckets.size(), settled.buckets.size());
  }
};

// Sets the phase of the plan, the order and the programs to which `step` belongs.
void set_phase(LoopParts& parts, size_t phase, int64_t step);
// Sets the bucket of a step of the current phase, and its batch plan.
void set_step(LoopParts& parts, int64_t step);

// Returns the order in which an evaluation reads a part of the data.
Order evaluation_order(const Settled& settled, const Source& part);
// Returns the function that fills the batches of this process's virtual workers in the current phase.
FieldFill training_fill(const LoopParts& parts);
// Returns the number of this process's first virtual worker among those of all processes.
int64_t first_worker(const LoopParts& parts);
// Set the scalar inputs of a training program, or of the check for values that are not finite: those that are the same
// in all steps, and those of one update.
void set_constants(Session& session, const LoopParts& parts);
void set_scalars(Session& session, RunSchedule& schedule, const Update& update);

// Returns the part of the data on which evaluations in the course of a training judge: the held-out samples if there
// are any, else the test part.
const Source& judged_part(const Task& task);
// Returns the part's name in metrics.jsonl: "valid" or "test".
const char* judged_part_name(const Task& task);
// Returns the part's name in messages: "validation" or "test".
const char* judged_part_word(const Task& task);

// Returns the number of samples of each class in that part; empty if the task has no classes, or if its labels do not
// lie in memory.
std::vector<int64_t> class_counts(const Task& task);

}  // namespace kb
