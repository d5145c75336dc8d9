// Parts that a training is made of, for all that work on them: the loop, its instruments, and the check for values that
// are not finite.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "data/order.h"
#include "recipes/config/learning.h"
#include "recipes/train/evaluate.h"
#include "recipes/train/observer.h"
#include "recipes/train/past_lines.h"
#include "recipes/train/run_schedule.h"
#include "recipes/train/settled.h"
#include "recipes/train/world.h"

namespace kb {

class FiniteCheck;

// World::stop_reason() of a run that an observer ended; signals have smaller numbers.
inline constexpr int kObserverStop = 1 << 16;

// Whether a run evaluates after `done` steps: as judging.eval_every asks, and at the end of its schedule.
bool evaluation_is_due(const Period& eval_every, const RunPlan& plan, const RunSchedule& schedule, int64_t done);

// State in which a run begins or goes on.
struct LoopStart {
  int64_t step = 0;                  // steps done before
  bool is_saved = true;              // the run has a checkpoint of that step, where step > 0
  bool has_trained_weights = false;  // the run began with weights that were trained
  std::string schedule_state = {};   // RunSchedule::state()
  PastLines past = {};               // the run's metrics up to that step; none where the run begins
  // Collective call. Returns the model that a checkpoint of the run has after so many steps; empty where there is none.
  std::function<std::vector<NamedTensor>(int64_t step)> saved_model = {};
  std::function<void()> load_state = {};  // puts the state of the start into the store, again if need be
};

// Things that the loop works on; all must outlive it.
struct LoopParts {
  const Settled& settled;
  const TrainConfig& config;
  const RunPlan& plan;
  BatchPlan batch;  // belongs to the phase
  RunSchedule schedule;
  const Task& task;                // with its sources
  int loader_threads;              // 0: a step fills its own minibatch
  std::vector<Session*> sessions;  // the training step of every phase of the plan
  Session& inference;
  const ComputedMetrics& metrics;
  StateStore& store;
  World& world;
  Observer& observer;
  const LoopStart& start;
  Session* statistics;  // estimates those of batch norm before every evaluation; null: there is none
  Session* averaged;    // evaluates the averaged parameters; null: they are not evaluated
  std::function<std::unique_ptr<FiniteCheck>(const LoopParts&)> make_check;
  std::function<void()> restore;  // puts the state of the start back
  size_t phase = 0;               // phase of the plan that the next step belongs to

  Session& training() const { return *sessions[phase]; }
};

// Makes the phase of the plan the one that the next step belongs to.
void set_phase(LoopParts& parts, size_t phase);

// Functions for any program that computes a run: what fills the batches of this process's workers and the first of
// these, the constants, and one step's scalars.
FieldFill training_fill(const LoopParts& parts);
int64_t first_worker(const LoopParts& parts);  // virtual, of this process
void set_constants(Session& session, const LoopParts& parts);
void set_scalars(Session& session, RunSchedule& schedule, int64_t step);

// Returns the part that evaluations in the course of a training judge on, and its name.
const Source& judged_part(const Task& task);
const char* judged_part_name(const Task& task);
// Returns the part's name in messages: "validation" or "test".
const char* judged_part_word(const Task& task);

// Samples of each class in that part; empty for a task without classes, or whose labels lie in no
// memory.
std::vector<int64_t> class_counts(const Task& task);

}  // namespace kb
