// Steps on a device: inputs through page-locked memory and a stream of their own, the programs as a captured graph for
// each of two slots, small results back with every step.
#pragma once
#include <memory>

#include "runtime/backend.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"

namespace kb::cuda {

// `has_ranks`: other processes take the same steps. `sync_steps`: see CudaOptions; the programs wait themselves.
std::unique_ptr<Runner> make_runner(const OpenDevice& device, Transfers& transfers, RunnerParts parts, bool has_ranks,
                                    bool sync_steps);

}  // namespace kb::cuda
