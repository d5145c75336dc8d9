// Takes steps on a device. Inputs go through page-locked memory on a stream of their own, the programs are a captured
// graph for each of two slots, and small results come back with every step.
#pragma once
#include <memory>

#include "runtime/backend.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"

namespace kb::cuda {

// `has_ranks` says that other processes take the same steps. With `sync_steps`, see CudaOptions, the programs wait
// themselves.
std::unique_ptr<Runner> make_runner(const OpenDevice& device, Transfers& transfers, RunnerParts parts, bool has_ranks,
                                    bool sync_steps);

}  // namespace kb::cuda
