#include "recipes/train/settle.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/train/bucket_choice.h"
#include "recipes/train/device.h"
#include "recipes/train/fit.h"

namespace kb {
namespace {

// Collective call. Returns the least memory of all processes, in bytes, so that all find the same n.
int64_t least_memory(int64_t own, Communicator& communicator) {
  for (const std::string& other : communicator.all_gather(std::to_string(own)))
    own = std::min<int64_t>(own, std::stoll(other));
  return own;
}

// Throws Error if the workers of an order do not have a process each, beside rank 0, which serves.
void check_team(const Settled& settled, int64_t processes) {
  const int64_t workers = settled.plan.ordered;
  if (workers == 0 || processes == 1) return;
  const Synchronising& sync = settled.config.sync;
  const std::string policy(word_of(kPolicies, sync.policy));
  if (processes != workers + 1)
    throw Error(
        fmt::format("sync.policy = {}: expected one process, or {}: one that serves and one for each of the {} "
                    "workers, got {}",
                    policy, workers + 1, workers, processes));
  if (!sync.order.empty())
    throw Error(fmt::format("sync.order: expected one process, which computes an order again, got {}", processes));
  if (sync.policy == Policy::backup && sync.late == LateGradients::abandon)
    throw Error(fmt::format("sync.late = abandon: expected finish on {} processes, where no gradient can be stopped",
                            processes));
}

void choose_per_worker(Settled& settled, const Task& task, Machine machine, int64_t memory) {
  const Batching& batch = settled.config.batch;
  if (task.is_ragged())
    throw UsageError(
        "batch.fit: expected samples of one shape, got a task with ragged fields: batch.tokens sets the size of a "
        "step");
  if (batch.per_worker > 0 || batch.batch_norm != NormGroup{})
    throw UsageError("batch.fit: it chooses batch.per_worker itself: leave batch.per_worker and batch.batch_norm out");
  const int64_t processes = sharing_processes(settled.config, machine.world.size());
  settled.fit = fit_per_worker(task, settled, processes, least_memory(memory, machine.world.communicator()));
  settled.batch = make_batch_plan(batch.minibatch, settled.fit->per_worker, processes);
  settled.reasons.push_back(settled.fit->text);
}

}  // namespace

Settled settle(const Task& task, const TrainConfig& config, Machine machine) {
  const int64_t memory = run_memory(config.arithmetic.memory, machine.backend.memory_bytes());
  Settled settled{.config = config};
  settled.target = run_target(config.arithmetic.memory, chosen_kernels(config.arithmetic, machine.backend.target()));
  settled.shards = config.arithmetic.shards > 0 ? static_cast<int>(config.arithmetic.shards) : settled.target.shards;
  settled.threads = static_cast<int>(threads_of(machine.options.threads, machine.world));
  settled.loader_threads =
      choose_loader_threads(config.arithmetic.loader_threads, settled.threads, machine.world.processors());
  settled.residency = choose_residency(config.arithmetic.resident, task, settled.target, memory);
  if (config.sync.policy != Policy::sync) settled.residency.train = 0;  // each copy of the model would need one
  if (config.batch.fit)
    choose_per_worker(settled, task, machine, memory);
  else
    settled.batch = batch_plan(config.batch, sharing_processes(config, machine.world.size()));
  if (task.is_ragged() && config.judging.recompute_bn > 0)
    throw Error("judging.recompute_bn: expected samples of one shape, got a task with ragged fields");
  settled.buckets = choose_buckets(task, config.batch, settled.batch);
  if (std::string text = buckets_text(task, settled.buckets); !text.empty()) settled.reasons.push_back(std::move(text));
  settled.plan = make_plan(config, settled.batch, bucket_sizes(task, settled.buckets, settled.batch.workers()));
  check_team(settled, machine.world.size());
  const BucketChoice bucket = choose_bucket_of(task, settled, machine);
  settled.bucket_mb = bucket.megabytes;
  settled.bucket_bytes = bucket_bytes(bucket.megabytes);
  if (!bucket.text.empty()) settled.reasons.push_back(bucket.text);
  return settled;
}

}  // namespace kb
