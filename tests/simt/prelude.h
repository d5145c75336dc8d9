// Gives the text that stands before CUDA text so that a C++ compiler takes it, and rewrites the CUDA text. The words
// are those that compiler/print_cuda.h lists, and, beyond them, atomicAdd, blockDim, __syncwarp, warp shuffles and
// votes, __ldg and CUDA's own vector types.
#pragma once
#include <string>
#include <string_view>

namespace kb::simt {

// C++17 without includes. `watched`: with the functions that the compiler's instrumentation calls.
std::string emulation_prelude(bool watched);

struct KernelHead {
  std::string name;
  std::string max_threads;  // the expression of __launch_bounds__, "0" without
};

// The one `__global__ void NAME(` of a text.
KernelHead kernel_head(std::string_view text);

// The text with every array in shared memory made known where it is declared, lines kept; and, behind it, the object
// `simt_NAME` (Entry, unit.h).
std::string emulated_text(std::string_view text, const KernelHead& head);

}  // namespace kb::simt
