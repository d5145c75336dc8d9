// How large the parts of a gradient are that are summed over processes while the rest of it is computed: small ones
// start early, and each costs the network's latency.
#pragma once
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "recipes/config/network.h"
#include "recipes/task/task.h"
#include "recipes/train/machine.h"
#include "recipes/train/settled.h"
#include "runtime/comm/communicator.h"

namespace kb {

ProcessorRates measure_rates(int threads);
// Over all ranks, each of which calls it: who waits for the others' sums is as slow as they are.
ProcessorRates slowest(const ProcessorRates& own, Communicator& communicator);
std::vector<double> estimated_seconds(const Schedule& schedule, const ProcessorRates& rates);

// Bucket size in MB for GPUs, whose rates and network nothing here measures: it fills NVLink and InfiniBand, and the
// first sum starts long before the backward pass ends. PyTorch's DistributedDataParallel begins with it.
inline constexpr double kGpuBucketMb = 25;

struct BucketChoice {
  double megabytes = 0;  // units of 1e6 bytes, like arithmetic.bucket_mb
  std::string text;      // a sentence for a person
};

// The training step with its gradient in the smallest buckets: when each piece is ready, from which the step of any
// size follows.
Compiled compile_finely(const Task& task, Settled settled);

// Returns the size, from 1/16 to 50 MB or the whole gradient, with the shortest step by predict_overlap for estimated
// times; a smaller size must be 0.5 % faster. Bits do not depend on it.
BucketChoice choose_bucket(const Compiled& finely, const Network& network, const ProcessorRates& rates);

// Collective call. Returns arithmetic.bucket_mb, with no text, where it is given or nothing is to choose; else the size
// that each process chooses for itself. All choose the same, from figures that all have: the network's and those of the
// slowest of the processors. `open`: every other choice.
BucketChoice choose_bucket_of(const Task& task, const Settled& open, Machine machine);

}  // namespace kb
