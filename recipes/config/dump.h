// The texts of the compiler that --dump can write.
#pragma once
#include <cstdint>

#include "recipes/config/values.h"

namespace kb {

enum class Dump : uint8_t { graph, graphviz, passes, schedule, cpp, cuda };
inline constexpr Choice<Dump> kDumps[] = {{"graph", Dump::graph},   {"graphviz", Dump::graphviz},
                                          {"passes", Dump::passes}, {"schedule", Dump::schedule},
                                          {"cpp", Dump::cpp},       {"cuda", Dump::cuda}};

}  // namespace kb
