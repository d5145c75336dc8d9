// How large the parts of a gradient are that are summed over processes while the rest of it is computed: small ones
// start early, and each costs the network's latency.
#pragma once
#include <string>

#include "recipes/programs.h"
#include "recipes/world.h"
#include "runtime/comm/communicator.h"

namespace kb {

// What a step's launches take of a processor: each as long as its bytes or its operations, whichever is more.
struct ProcessorRates {
  double bytes = 0, operations = 0;  // a second
};
ProcessorRates measure_rates(int threads);
// Over all ranks, each of which calls it: who waits for the others' sums is as slow as they are.
ProcessorRates slowest(const ProcessorRates& own, Communicator& communicator);
std::vector<double> estimated_seconds(const Schedule& schedule, const ProcessorRates& rates);

// Of GPUs, whose rates and network nothing here measures: large enough for NVLink's bandwidth and InfiniBand's, small
// enough that the first goes long before the backward pass ends. What PyTorch's DistributedDataParallel begins with.
inline constexpr double kGpuBucketMb = 25;

struct BucketChoice {
  double megabytes = 0;  // for --bucket-mb
  std::string text;      // a line
};

// The training step with its gradient in the smallest buckets: when each piece is ready, from which the step of any
// size follows.
Compiled compile_finely(const Recipe& recipe, Flags flags, const InputSpec& input, const Target& target,
                        const Residency& residency);

// Of 1/16 to 50 MB and the whole gradient, the size with the least step that predict_overlap gives for estimated
// times, the largest where several do. Bits do not depend on it.
BucketChoice choose_bucket(const Compiled& finely, const Network& network, const ProcessorRates& rates);

// Of a run that has the threads of `flags` in this process: --bucket-mb as it is given or where nothing is chosen, with
// no text. Every process chooses for itself, from figures that all have: of the network and of the slowest of their
// processors.
BucketChoice bucket_of_run(const Recipe& recipe, const Flags& flags, const InputSpec& input, const Target& target,
                           const Residency& residency, World& world);

}  // namespace kb
