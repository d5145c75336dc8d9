// Chooses the size of buckets: the parts of a gradient that are summed over processes while the rest of the gradient is
// still computed. The sum of a small bucket starts early, but every bucket costs the network's latency once more.
#pragma once
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "recipes/config/network.h"
#include "recipes/task/task.h"
#include "recipes/train/machine.h"
#include "recipes/train/settled.h"
#include "runtime/comm/communicator.h"

namespace kb {

// Measures memory traffic (bytes read and written, per second) and f32 operations per second of `threads` threads; 0
// threads stand for one per core.
ProcessorRates measure_rates(int threads);
// Collective call. Returns the lowest rates of all ranks: a rank that waits for the others' sums is as slow as they
// are.
ProcessorRates slowest(const ProcessorRates& own, Communicator& communicator);
// Returns the seconds of each step of the schedule: the longer of its memory traffic and its arithmetic. Exchanges and
// waits count as 0.
std::vector<double> estimated_seconds(const Schedule& schedule, const ProcessorRates& rates);

// Bucket size in MB (1e6 bytes) for GPUs, whose rates and network are not measured. Buckets of this size use the whole
// bandwidth of NVLink and InfiniBand, and the first sum starts long before the backward pass ends. PyTorch's
// DistributedDataParallel has the same default.
inline constexpr double kGpuBucketMb = 25;

struct BucketChoice {
  double megabytes = 0;  // units of 1e6 bytes, like arithmetic.bucket_mb
  std::string text;      // a sentence for a person
};

// Compiles the training step with its gradient in the smallest buckets. Its schedule tells when each piece of the
// gradient is ready, from which the duration of the step with larger buckets is predicted.
Compiled compile_finely(const Task& task, Settled settled);

// Returns the bucket size, from 1/16 to 50 MB or the whole gradient, whose step predict_overlap() finds shortest from
// estimated times. A smaller size is chosen only if its step is at least 0.5 % shorter than that of every larger size
// that was chosen before. With halving-doubling, which the prediction is about, the bits of a run do not depend on the
// size.
BucketChoice choose_bucket(const Compiled& finely, const Network& network, const ProcessorRates& rates);

// Collective call. Returns arithmetic.bucket_mb, without a text, if it is given, if there is one process, or if the
// CPUs' all-reduce is not halving-doubling; else the size that each process chooses for itself. All processes choose
// the same size, because all have the same rates, those of the slowest process, and the same network. Rates are
// measured only if the gradient is larger than 1/16 MB. `open` holds all other choices.
BucketChoice choose_bucket_of(const Task& task, const Settled& open, Machine machine);

}  // namespace kb
