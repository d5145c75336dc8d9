// The result of lowering a fused group.
#pragma once
#include <vector>

#include "compiler/schedule.h"

namespace kb {

// A kernel and what this instance of it needs at run time.
struct Lowered {
  ir::Kernel kernel;
  std::vector<int64_t> arguments;
  std::vector<int64_t> tiles;          // number of tiles of each phase
  std::vector<Value> operands;         // graph value of each kernel buffer; invalid for scratch buffers
  std::vector<int64_t> scratch_bytes;  // bytes of each kernel buffer that is scratch, else 0
  int64_t flops = 0;                   // number of operations
};

}  // namespace kb
