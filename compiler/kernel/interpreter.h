// Runs a kernel and so defines what KernelIR means: floats in double, rounded to their type after every instruction
// (f32 results are those of f32 arithmetic to the bit), integers exact. Every access is checked: bounds, memory never
// written, and races - two tiles of a phase, two threads of a block with no barrier between, or two lanes of a lane
// loop that reach the same element, one of them writing - in whatever order the kernel happens to be run.
#pragma once
#include <cstdint>
#include <span>

#include "compiler/kernel_ir.h"

namespace kb::ir {

struct Memory {
  DType dtype = DType::f32;
  void* data = nullptr;
  int64_t elements = 0;
  bool defined = true;  // false: scratch and outputs, whose elements must be written before they are read
};

// `arguments`, `tiles` (of each phase) and `buffers` as the kernel declares them; two buffers with one `data` are one
// memory (in-place). Throws InternalError on any fault above.
void run(const Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
         std::span<const Memory> buffers);

// One primitive point-wise op in `type` (the operands' type; select: of what it selects), rounded to its result's type.
// Integers and booleans are exact numbers. `fma` likewise.
struct Scalar {
  double number = 0;
  int64_t integer = 0;  // of integer types and booleans
};
Scalar evaluate_primitive(Op op, DType type, const Scalar& x, const Scalar& y, const Scalar& z);
double evaluate_fma(DType type, double a, double b, double c);
Scalar convert_scalar(DType to, DType from, const Scalar& x);

}  // namespace kb::ir
