// From a fused group to a kernel for a target. One file a fusion class; shared expression lowering in
// compiler/lower_expression.
#pragma once
#include "compiler/schedule.h"
#include "compiler/target.h"

namespace kb {

// A kernel and what this instance of it needs at run time.
struct Lowered {
  ir::Kernel kernel;
  std::vector<int64_t> arguments;
  std::vector<int64_t> tiles;          // of each phase
  std::vector<Value> operands;         // graph value of each kernel buffer; invalid for scratch buffers
  std::vector<int64_t> scratch_bytes;  // of each kernel buffer; 0 unless scratch
  int64_t flops = 0;
};

Lowered lower(const Graph& graph, const Group& group, const Target& target);

}  // namespace kb
