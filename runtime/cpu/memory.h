// Memory of the CPU backend: page-aligned, touched once, so that a steady step has no page fault.
#pragma once
#include <memory>

#include "runtime/backend.h"

namespace kb {

std::unique_ptr<DeviceMemory> allocate_cpu_memory(int64_t bytes);

}  // namespace kb
