// The interpreter runs a kernel and so defines what KernelIR means: floats in double, rounded to their type after every
// instruction (f32 results are those of f32 arithmetic to the bit), integers exact. Every access is checked: bounds,
// memory never written, and races - two tiles of a phase, two threads of a block with no barrier between, or two lanes
// of a lane loop that reach the same element, one of them writing - in whatever order the kernel happens to be run.
#pragma once
#include <cstdint>
#include <span>

#include "compiler/kernel_ir.h"
#include "tests/interpreters/scalar.h"

namespace kb::ir {

// The memory of one kernel buffer.
struct Memory {
  DType dtype = DType::f32;
  void* data = nullptr;
  int64_t elements = 0;
  bool defined = true;  // false for scratch and outputs, whose elements must be written before they are read
};

// Runs a kernel on its arguments, the number of tiles of each phase, and its buffers; buffers with the same `data` are
// one memory (in-place). Throws InternalError on any fault named above.
void run(const Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
         std::span<const Memory> buffers);

}  // namespace kb::ir
