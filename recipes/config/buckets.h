// Buckets: lengths to which the ragged fields of a minibatch are padded, so that every program has fixed shapes. A step
// is of one bucket for all workers. A task without ragged fields has one bucket, of length 0.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/order.h"
#include "recipes/config/train_config.h"

namespace kb {

struct Bucket {
  int64_t length = 0;      // to which ragged fields are padded; 0: the task has none
  int64_t per_worker = 0;  // n, samples of a virtual worker
  bool operator==(const Bucket&) const = default;
};

// Samples that a bucket has, and those of a step that draws from it.
struct BucketSize {
  int64_t samples = 0, minibatch = 0;
};

// Returns the samples of a virtual worker in a bucket of this length: `batch.tokens` shared by the workers of `plan`,
// or n of the plan.
int64_t per_worker_at(int64_t length, const Batching& batch, const BatchPlan& plan);

// Returns the buckets of a task with its sources. Lengths that are not given are those that pad the training samples
// least, the last of which also holds the longest sample of the other parts. Throws Error where a sample to evaluate on
// is longer than the last one, and where a task without ragged fields is given lengths or tokens.
std::vector<Bucket> choose_buckets(const Task& task, const Batching& batch, const BatchPlan& plan);
// Returns the only bucket of programs that are made for single steps, without the data: of the last given length, or of
// that of the task.
std::vector<Bucket> bucket_of_one_step(const Batching& batch, const BatchPlan& plan);

// Returns the samples of each bucket, with `minibatch_of(bucket)` rows a batch. Samples longer than the last are left
// out.
std::vector<OrderBucket> in_buckets(const Source& source, std::span<const Bucket> buckets,
                                    std::span<const int64_t> minibatches);
// Returns the sizes by which a plan counts the steps of a training: `workers` of them take part in a step.
std::vector<BucketSize> bucket_sizes(const Task& task, std::span<const Bucket> buckets, int64_t workers);

// Returns a sentence for people about lengths, padding and samples that are left out; "" for one bucket of length 0.
std::string buckets_text(const Task& task, std::span<const Bucket> buckets);

// Returns the share of padding, in [0, 1), in the ragged fields of a step's minibatch.
double padding_of(const Source& source, const Order& order, int64_t step, int64_t length, int64_t ragged_fields);

}  // namespace kb
