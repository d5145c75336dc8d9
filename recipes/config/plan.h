// How long a run is: steps from samples, minibatch and epochs, each figure with its derivation. With AdaScale these
// are the steps that the base minibatch would take, the most that a run takes (optim/adascale.h).
#pragma once
#include <string>
#include <vector>

#include "optim/batch_plan.h"
#include "optim/scaling.h"
#include "recipes/config/run_config.h"

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
  std::vector<MinibatchPhase> grown = {};  // phases behind the first, as --minibatch-schedule asks

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
  std::string derivation(const RunConfig& config) const;
};

// True where `done` steps are the first that reach a multiple of the period, or pass one; of a geometric period, where
// they are ceil(count^k) for a k = 0, 1, ...
bool is_due(const Period& every, const RunPlan& plan, int64_t done);

// Paths of what is read, so that they mean the same in whatever folder they are given.
RunConfig with_absolute_paths(RunConfig config);
// Returns the rule, the rate and the minibatch that the flags give it for.
ReferenceRate reference_rate(const RunConfig& config);
// True where steps are to give the norms of their workers' gradients: for --noise-scale, or for AdaScale.
bool reads_gradient_norms(const RunConfig& config);
// How the flags share a step. Throws Error where they do not divide.
BatchPlan batch_plan(const RunConfig& config);
// Returns flags of the same run with the plan's n for --per-worker and --batch-norm worker: one set of words per plan.
RunConfig with_plan(RunConfig config);

// Returns the flags of the same run with another minibatch, of workers as large.
RunConfig with_minibatch(RunConfig config, int64_t minibatch);

// Returns how many bytes of the gradient the processes sum together, for --bucket-mb; at 0 a model may choose, and
// where there is none, 25 MB.
int64_t bucket_bytes(double megabytes);

// Throws Error where the minibatch, one that it grows to, or those of --recompute-bn together, are larger than the data
// set, and where a step has no workers whose gradients --noise-scale or AdaScale could compare.
RunPlan make_plan(const RunConfig& config, int64_t samples);
// Throws Error where there is no such plan, before anything is compiled for it: with --fit, where none is whatever
// number of samples a worker is given.
void check_plan(RunConfig config, int64_t samples);
// Returns the plan by which the schedule of the learning rate counts its steps: with AdaScale that of the base
// minibatch, else the plan itself.
RunPlan schedule_plan(const RunConfig& config, const RunPlan& plan);
// Returns the steps that AdaScale takes where every gain is its greatest: perfect scaling.
int64_t least_steps(const RunConfig& config, const RunPlan& plan);

// Steps after which the run ends at the latest.
int64_t last_step(const StopAt& stop, const RunPlan& plan);

}  // namespace kb
