// Turns a fused group into a kernel for a target. There is a file for each kind of fusion class; all of them share the
// lowering of expressions (compiler/lower/expression.h).
#pragma once
#include "compiler/lower/lowered.h"
#include "compiler/target.h"

namespace kb {

// Throws InternalError for a class that has no kernel (a library call, an exchange, a wait).
Lowered lower(const Graph& graph, const Group& group, const Target& target);

// Makes arguments of offsets: literals that a kernel adds to an index or compares one with. They have a place each, in
// the order of the text; `chosen` says of each place whether it becomes an argument (empty: all do). Returns the values
// of the arguments, which follow those that the kernel has.
std::vector<int64_t> share_offsets(ir::Kernel& kernel, const std::vector<bool>& chosen = {});

}  // namespace kb
