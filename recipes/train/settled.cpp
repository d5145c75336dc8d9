#include "recipes/train/settled.h"

namespace kb {

BatchPlan Settled::batch_of(size_t number) const {
  if (number == 0) return batch;
  return make_batch_plan(plan.phase(number).minibatch, batch.per_worker, batch.processes);
}

Settled settle_for_one_step(const TrainConfig& config, const Target& target, int64_t processes, Residency residency) {
  Settled settled{.config = config, .batch = batch_plan(config.batch, processes)};
  settled.plan = {config.batch.minibatch, config.batch.minibatch, 1, 1};
  for (const Growth& growth : config.batch.growths)
    settled.plan.grown.push_back(
        {.minibatch = settled.plan.phase(settled.plan.grown.size()).minibatch * growth.factor, .steps_per_epoch = 1});
  settled.target = target;
  settled.residency = residency;
  settled.bucket_mb = config.arithmetic.bucket_mb;
  settled.bucket_bytes = bucket_bytes(settled.bucket_mb);
  settled.shards = config.arithmetic.shards > 0 ? static_cast<int>(config.arithmetic.shards) : target.shards;
  return settled;
}

}  // namespace kb
