// One function a fusion class; `lower` chooses.
#pragma once
#include "compiler/lower.h"

namespace kb {

Lowered lower_pointwise(const Graph& graph, const Group& group, const Target& target);  // windows and copies too
Lowered lower_reduce(const Graph& graph, const Group& group, const Target& target);
Lowered lower_scatter(const Graph& graph, const Group& group, const Target& target);

}  // namespace kb
