#include "recipes/train/settled.h"

namespace kb {

BatchPlan Settled::batch_of(size_t phase, size_t bucket) const {
  const int64_t n = buckets.at(bucket).per_worker, factor = plan.phase(phase).factor;
  if (factor == 1 && n == batch.per_worker) return batch;
  return make_batch_plan(batch.workers() * n * factor, n, batch.processes);
}

Target chosen_kernels(const Arithmetic& arithmetic, Target target) {
  if (target.processor == Processor::gpu) target.products = arithmetic.products;
  return target;
}

Settled settle_for_one_step(const TrainConfig& config, const Target& target, int64_t processes, Residency residency) {
  Settled settled{.config = config, .batch = batch_plan(config.batch, sharing_processes(config, processes))};
  settled.buckets = bucket_of_one_step(config.batch, settled.batch);
  settled.plan = {config.batch.minibatch, config.batch.minibatch, 1, 1};
  for (const Growth& growth : config.batch.growths) settled.plan.pieces *= growth.longer;
  for (const Growth& growth : config.batch.growths) {
    const int64_t factor = settled.plan.phase(settled.plan.grown.size()).factor * growth.factor;
    const int64_t pieces = settled.plan.phase(settled.plan.grown.size()).pieces / growth.longer;
    settled.plan.grown.push_back(
        {.minibatch = config.batch.minibatch * factor, .steps_per_epoch = 1, .factor = factor, .pieces = pieces});
  }
  settled.target = chosen_kernels(config.arithmetic, target);
  settled.residency = residency;
  settled.bucket_mb = config.arithmetic.bucket_mb;
  settled.bucket_bytes = bucket_bytes(settled.bucket_mb);
  settled.shards = config.arithmetic.shards > 0 ? static_cast<int>(config.arithmetic.shards) : target.shards;
  return settled;
}

}  // namespace kb
