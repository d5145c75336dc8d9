// How long a run is: steps from samples, minibatch and epochs, each figure with its derivation. With AdaScale these
// are the steps that the base minibatch would take, the most that a run takes (optim/adascale.h).
#pragma once
#include <string>
#include <vector>

#include "optim/batch_plan.h"
#include "optim/scaling.h"
#include "recipes/config/train_config.h"

namespace kb {

// A part of a run with one minibatch.
struct MinibatchPhase {
  int64_t begin_step = 0, begin_epoch = 0;
  int64_t minibatch = 0;        // kn
  int64_t steps_per_epoch = 0;  // floor(samples / minibatch)
};

struct RunPlan {
  int64_t samples = 0;          // of the training part
  int64_t minibatch = 0;        // kn, of the first phase, as the next
  int64_t steps_per_epoch = 0;  // floor(samples / minibatch)
  int64_t steps = 0;
  std::vector<MinibatchPhase> grown = {};  // phases after the first, as batch.growths asks

  size_t phase_count() const { return grown.size() + 1; }
  MinibatchPhase phase(size_t number) const;  // 0: the first
  size_t phase_of(int64_t step) const;        // the number of the phase that has step `step`
  double epochs(int64_t done) const;          // of so many steps
  int64_t steps_in(double epochs) const;      // rounded to the nearest
  int64_t samples_in(int64_t done) const;     // of so many steps
  int64_t minibatch_at(int64_t step) const { return phase(phase_of(step)).minibatch; }
  bool ends_epoch(int64_t done) const;      // true where so many steps are whole epochs, at least one
  int64_t epoch_begin(int64_t done) const;  // the first step of the epoch that is under way after so many
  // "60000 samples / 64 = 937 steps an epoch (32 samples left out, others each time); x 6 epochs = 5622 steps".
  std::string derivation(const TrainConfig& config) const;
};

// True where `done` steps are the first that reach a multiple of the period, or pass one; of a geometric period, where
// they are ceil(count^k) for a k = 0, 1, ...
bool is_due(const Period& every, const RunPlan& plan, int64_t done);

// Returns the rule, the rate and the minibatch that the rate holds for.
ReferenceRate reference_rate(const Learning& learning);
// True where steps are to give the norms of their workers' gradients: for judging.noise_scale, or for AdaScale.
bool reads_gradient_norms(const TrainConfig& config);
// Returns how workers and processes share a step. Throws Error where the numbers do not divide.
BatchPlan batch_plan(const Batching& batch, int64_t processes);

// Returns how many bytes of the gradient the processes sum together, in units of 1e6: `megabytes`, or
// 25 where that is 0.
int64_t bucket_bytes(double megabytes);

// Returns the plan of a training on so many samples, a step being shared as `batch` says. Throws Error where the
// minibatch, one that it grows to, or the minibatches of judging.recompute_bn together are larger than the data set,
// and where a step has no two workers whose gradients judging.noise_scale or AdaScale could compare.
RunPlan make_plan(const TrainConfig& config, const BatchPlan& batch, int64_t samples);
// Returns the plan by which the schedule of the learning rate counts its steps: with AdaScale that of the base
// minibatch, else the plan itself.
RunPlan schedule_plan(const Learning& learning, const RunPlan& plan);
// Returns the steps that AdaScale takes where every gain is its greatest: perfect scaling.
int64_t least_steps(const Learning& learning, const RunPlan& plan);

// Steps after which the run ends at the latest.
int64_t last_step(const StopAt& stop, const RunPlan& plan);

}  // namespace kb
