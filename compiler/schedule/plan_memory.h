// Offsets of the arena's buffers.
#pragma once
#include <vector>

#include "compiler/schedule.h"

namespace kb {

inline constexpr int64_t kAlignment = 64;  // bytes; every buffer and every segment of the flat parameter space has it

// Returns the bytes of the arena and output buffers that are live at each step, rounded up as the planner rounds them.
std::vector<int64_t> live_bytes(const Schedule& schedule, int64_t redzone_bytes = 0);

// Sets offset of every arena and output buffer, arena_bytes and liveness_bound_bytes, from sizes and live ranges.
// After every buffer `redzone_bytes` bytes are left free.
void plan_memory(Schedule& schedule, int64_t redzone_bytes = 0);

}  // namespace kb
