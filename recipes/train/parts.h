// Parts that a training is made of, for all that work on them: the loop, and the check for values that are not finite.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "data/order.h"
#include "optim/noise_scale.h"
#include "recipes/config/learning.h"
#include "recipes/train/best_state.h"
#include "recipes/train/evaluate.h"
#include "recipes/train/observer.h"
#include "recipes/train/run_schedule.h"
#include "recipes/train/settled.h"
#include "recipes/train/world.h"

namespace kb {

class FiniteCheck;

// World::stop_reason() of a run that an observer ended; signals have smaller numbers.
inline constexpr int kObserverStop = 1 << 16;

// Whether a run evaluates after `done` steps: as --eval-every asks, and at the end of its schedule.
bool evaluation_is_due(const Period& eval_every, const RunPlan& plan, const RunSchedule& schedule, int64_t done);

// State in which a run begins or goes on.
struct LoopStart {
  int64_t step = 0;                      // done before
  std::optional<Evaluation> evaluation;  // of the parameters there
  StepSums sums = {};
  std::vector<double> losses = {};        // of the steps before, from 0 on; NaN: not known
  std::vector<GradientNorms> norms = {};  // likewise, where --noise-scale asks
  StepSums epoch = {};                    // of the steps of the epoch under way
  std::optional<BestState> best = {};     // of the evaluations before
  bool is_saved = true;                   // where step > 0: the run has a checkpoint of it
  std::string schedule_state = {};        // RunSchedule::state()
  bool has_trained_weights = false;       // the loss of step 0 is not that of initial values
  std::function<void()> load_state = {};  // puts the state of the start into the store, again if need be
};

// Things that the loop works on; all must outlive it.
struct LoopParts {
  const Settled& settled;
  const TrainConfig& config;
  const RunPlan& plan;
  BatchPlan batch;  // of the phase
  RunSchedule schedule;
  const Task& task;                // with its sources
  int loader_threads;              // 0: a step fills its own minibatch
  std::vector<Session*> sessions;  // the training step of every phase of the plan
  Session& inference;
  const ComputedMetrics& metrics;
  StateStore& store;
  World& world;
  Observer& observer;
  LoopStart start;
  Session* statistics;  // of batch norm, before every evaluation; null: there is none
  Session* averaged;    // evaluates the averaged parameters; null: they are not evaluated
  std::function<std::unique_ptr<FiniteCheck>(const LoopParts&)> make_check;
  std::function<void()> restore;  // puts the state of the start back
  size_t phase = 0;               // of the plan, that the next step is of

  Session& training() const { return *sessions[phase]; }
};

// Functions for any program that computes a run: what fills the batches of this process's workers and the first of
// these, the constants, and one step's scalars.
FieldFill training_fill(const LoopParts& parts);
int64_t first_worker(const LoopParts& parts);  // virtual, of this process
void set_constants(Session& session, const LoopParts& parts);
void set_scalars(Session& session, RunSchedule& schedule, int64_t step);

// Returns the part that evaluations in the course of a training judge on, and its name.
const Source& judged_part(const Task& task);
const char* judged_part_name(const Task& task);
// Likewise as messages have it: "validation" or "test".
const char* judged_part_word(const Task& task);

// Samples of each class in that part; empty for a task without classes, or whose labels lie in no
// memory.
std::vector<int64_t> class_counts(const Task& task);

}  // namespace kb
