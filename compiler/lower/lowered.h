// The result of lowering a fused group.
#pragma once
#include <vector>

#include "compiler/schedule.h"

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

}  // namespace kb
