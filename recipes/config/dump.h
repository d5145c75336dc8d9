// The texts of the compiler that --dump can write.
#pragma once
#include <cstdint>

#include "recipes/config/values.h"

namespace kb {

enum class Dump : uint8_t { graph, graphviz, passes, schedule, cpp, cuda };
inline constexpr auto kDumps = choices<Dump>({"graph", "graphviz", "passes", "schedule", "cpp", "cuda"});

}  // namespace kb
