// Memory of the CPU backend: page-aligned, touched once, so that a steady step has no page fault.
#pragma once
#include <memory>

#include "runtime/backend.h"

namespace kb {

// Zeros, at a multiple of 4096 (from 2 MiB on: of 2 MiB, on transparent huge pages where the system has them). Error
// where the system has no more.
std::unique_ptr<DeviceMemory> allocate_cpu_memory(int64_t bytes);

}  // namespace kb
