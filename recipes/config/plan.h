// The plan of a run: its steps, derived from samples, minibatch and epochs. With AdaScale these are the steps that the
// base minibatch would take, which a run never exceeds (optim/adascale.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "optim/batch_plan.h"
#include "optim/scaling.h"
#include "recipes/config/buckets.h"
#include "recipes/config/train_config.h"

namespace kb {

// Rounds of local training: replicas of the model take steps of their own and are joined at the end of each round
// (--policy local; Lin et al. 2020, "Don't Use Large Mini-Batches, Use Local SGD").
struct Rounds {
  int64_t replicas = 0;   // 0: every step is synchronous
  int64_t every = 1;      // steps of a round
  int64_t first = 0;      // step with which the first round begins; the steps before are synchronous
  int64_t end = 0;        // steps of the run, whose last round may be shorter
  int64_t processes = 1;  // processes of the run: they share the replicas evenly, or each replica has as many of them

  int64_t processes_a_replica() const { return processes > replicas ? processes / replicas : 1; }

  bool has(int64_t step) const { return replicas > 0 && step >= first; }
  bool begins_with(int64_t step) const { return has(step) && (step - first) % every == 0; }
  // Returns whether the replicas are joined after the first `done` steps.
  bool ends_after(int64_t done) const {
    return done > 0 && has(done - 1) && ((done - first) % every == 0 || done == end);
  }
  int64_t number_of(int64_t step) const { return (step - first) / every; }                        // counted from 0
  int64_t steps_until(int64_t done) const { return done - first - number_of(done - 1) * every; }  // of that round
};

// A part of a run in which a step's shape is constant. It may begin within an epoch, which goes on with the samples
// that are not drawn yet; those that fill no minibatch at its end are left out (Order::after()).
struct MinibatchPhase {
  int64_t begin_step = 0, begin_epoch = 0;  // first step and epoch
  int64_t minibatch = 0;                    // samples per step, kn
  int64_t steps_per_epoch = 0;              // floor(samples / minibatch)
  int64_t begin_sample = 0;                 // samples of the first epoch that earlier phases have drawn
  int64_t rest_steps = 0;                   // steps in the rest of that epoch; 0 if the phase begins with an epoch
  double rate = 1;                          // factor of the learning rate by this growth and those before it
  int64_t factor = 1;                       // minibatch over that of the first phase
  int64_t pieces = 1;                       // equal pieces, each computed by itself, in which a sample is computed
  bool restarts = false;                    // whether the schedule of the learning rate begins anew with this phase
  double warmup_epochs = 0;                 // warmup of a schedule that begins anew

  // Returns the epochs in the first `done` steps of the run, of which the last is in this phase. An epoch in which the
  // minibatch grows is measured by its samples that are drawn.
  double epochs(int64_t done) const;
  // Returns the steps of this phase up to so many epochs of the run.
  double steps_in(double epochs) const;
};

// Copies of the parameters. A process has `own` of them from number `first` on, each of which it shares with as many
// processes as `processes` says, itself included: ranks that follow each other. Without any, all workers take the
// parameters of the run.
struct ParameterCopies {
  int64_t all = 0, first = 0, own = 0, processes = 1;

  bool has(int64_t copy) const { return copy >= first && copy < first + own; }
  int64_t rank_of(int64_t copy) const { return copy / own * processes; }  // first of the ranks that have a copy
};

struct RunPlan {
  int64_t samples = 0;                     // samples of the training part
  int64_t minibatch = 0;                   // samples per step, kn, in the first phase
  int64_t steps_per_epoch = 0;             // floor(samples / minibatch), in the first phase
  int64_t steps = 0;                       // length of the run
  std::vector<MinibatchPhase> grown = {};  // later phases, one for each of batch.growths
  // Buckets of the first phase (recipes/config/buckets.h), whose minibatches `factor` enlarges in a later one. The
  // minibatch of a plan with several is the mean over the steps of an epoch, rounded. Empty: one bucket, of all
  // samples.
  std::vector<BucketSize> buckets = {};
  Rounds rounds = {};
  int64_t pieces = 1;   // pieces of a sample in the first phase (MinibatchPhase::pieces)
  int64_t ordered = 0;  // workers whose gradients an order applies (Synchronising::is_ordered); 0: it is no such run

  // Returns the copies of the parameters that workers or replicas have, as the process of a rank sees them.
  ParameterCopies copies(int64_t rank = 0) const;

  size_t phase_count() const { return grown.size() + 1; }
  MinibatchPhase phase(size_t number) const;  // counted from 0
  size_t phase_of(int64_t step) const;        // number of the phase that step `step` is in
  size_t phase_done(int64_t done) const { return phase_of(done > 0 ? done - 1 : 0); }  // that of the last step done
  size_t judging_phase(size_t number) const;  // first phase of samples in as many pieces, whose evaluations judge it
  double epochs(int64_t done) const;          // epochs in the first `done` steps
  int64_t steps_in(double epochs) const;      // steps in the first `epochs` epochs, rounded to the nearest
  int64_t steps_in(const Period& duration) const;
  int64_t samples_in(int64_t done) const;  // samples in the first `done` steps, of the mean minibatch each
  int64_t minibatch_at(int64_t step) const { return phase(phase_of(step)).minibatch; }
  bool ends_epoch(int64_t done) const;      // true if `done` steps are whole epochs, at least one
  int64_t left_out() const;                 // samples of an epoch that fill no minibatch of the first phase
  int64_t epoch_begin(int64_t done) const;  // first step of the epoch that step `done` is in
  // Returns a text such as
  // "60000 samples / 64 = 937 steps an epoch (32 left out, others each time); x 6 epochs = 5622 steps".
  std::string derivation(const TrainConfig& config) const;
};

// Returns whether the last of `done` steps is the first to reach or pass a multiple of the period; for a geometric
// period, whether `done` is ceil(count^k) for a k = 0, 1, ...
bool is_due(const Period& every, const RunPlan& plan, int64_t done);

// Returns the learning rate, the minibatch for which it holds, and the rule that scales it to other minibatches.
ReferenceRate reference_rate(const Learning& learning);
// Returns whether steps have to compute the norms of their workers' gradients, for judging.noise_scale or AdaScale.
bool reads_gradient_norms(const TrainConfig& config);
// Returns the processes, of so many, among which the workers of a step are divided. An order of gradients gives each
// worker to one process, and to one process all.
int64_t sharing_processes(const TrainConfig& config, int64_t processes);
// Returns how workers and processes share a step. Throws Error if the numbers do not divide each other.
BatchPlan batch_plan(const Batching& batch, int64_t processes);

// Returns the order of the samples in a phase of a plan, where `buckets` have the minibatches of the first phase. Each
// phase goes on where the one before it ends.
Order order_in_phase(const RunPlan& plan, size_t phase, uint64_t seed, const std::vector<OrderBucket>& buckets);

// Returns how many bytes of the gradient the processes sum at once: `megabytes` times 1e6, or 25e6 if it is 0.
int64_t bucket_bytes(double megabytes);

// Returns the plan of a training on `samples` samples, or on those of `buckets`, whose steps are shared as `batch`
// says. Throws Error if the minibatch, one that it grows to, or all minibatches of judging.recompute_bn together are
// larger than the data set; if growths do not fit the run or do not follow each other, or stand beside AdaScale or a
// half-life; if AdaScale has batch.tokens, or a minibatch below its base minibatch; or if judging.noise_scale or
// AdaScale lack a second worker whose gradient they compare; or if replicas do not share the workers evenly, begin
// after the run, or do not go with another member.
RunPlan make_plan(const TrainConfig& config, const BatchPlan& batch, int64_t samples);
RunPlan make_plan(const TrainConfig& config, const BatchPlan& batch, const std::vector<BucketSize>& buckets);
// Returns the plan by which the schedule of the learning rate counts its steps: with AdaScale the plan of the base
// minibatch, else `plan`.
RunPlan schedule_plan(const Learning& learning, const RunPlan& plan);
// Returns the steps that AdaScale takes if every gain is as great as possible (perfect scaling).
int64_t least_steps(const Learning& learning, const RunPlan& plan);

// Returns the number of steps after which the run ends at the latest.
int64_t last_step(const StopAt& stop, const RunPlan& plan);

}  // namespace kb
