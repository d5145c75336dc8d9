// Memory of the CPU backend: page-aligned, and touched once, so that a step causes no page fault.
#pragma once
#include <memory>

#include "runtime/backend.h"
#include "runtime/cpu/pool.h"

namespace kb {

// Returns zeroed memory at a multiple of 4096. From 2 MiB on it is at a multiple of 2 MiB, on transparent huge pages if
// the system has them. The pool's threads touch it. Throws Error when the system has no more.
std::unique_ptr<DeviceMemory> allocate_cpu_memory(int64_t bytes, Pool& pool);

}  // namespace kb
