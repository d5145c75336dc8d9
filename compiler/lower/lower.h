// Turns a fused group into a kernel for a target. There is a file for each kind of fusion class; all of them share the
// lowering of expressions (compiler/lower/expression.h).
#pragma once
#include "compiler/lower/lowered.h"
#include "compiler/target.h"

namespace kb {

// Throws InternalError for a class that has no kernel (a library call, an exchange, a wait).
Lowered lower(const Graph& graph, const Group& group, const Target& target);

}  // namespace kb
