// From a fused group to a kernel for a target. One file a fusion class; shared expression lowering in
// compiler/lower/expression.
#pragma once
#include "compiler/lower/lowered.h"
#include "compiler/target.h"

namespace kb {

Lowered lower(const Graph& graph, const Group& group, const Target& target);

}  // namespace kb
