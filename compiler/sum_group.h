// The two kinds of flat vectors that leave a worker, each summed over all workers of a step.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace kb {

// gradient: buckets of the flat gradient. rest: losses, running statistics and norms.
enum class SumGroup : uint8_t { gradient, rest };
inline constexpr std::array kSumGroups{SumGroup::gradient, SumGroup::rest};
std::string_view name(SumGroup group);

// The group of a worker_sum that place_all_reduce made; none for every other node.
std::optional<SumGroup> sum_group(const Node& node);

}  // namespace kb
