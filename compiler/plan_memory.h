// Offsets of the arena's buffers.
#pragma once
#include "compiler/schedule.h"

namespace kb {

inline constexpr int64_t kAlignment = 64;  // bytes; of every buffer, and of every segment of the flat parameter space

// Sets offset of every arena and output buffer, arena_bytes and liveness_bound_bytes, from sizes and live ranges.
void plan_memory(Schedule& schedule);

}  // namespace kb
