// Makes CUDA text acceptable to a C++ compiler: it gives a prelude, and rewrites the text. The prelude defines the
// words that compiler/print/cuda.h lists and, beyond them, atomicAdd, blockDim, __syncwarp, warp shuffles and votes,
// __ldg, __align__, `extern __shared__` and CUDA's vector types.
#pragma once
#include <string>
#include <string_view>

namespace kb::simt {

// Returns C++17 without includes. If `watched`, it has the functions that the compiler's instrumentation calls.
std::string emulation_prelude(bool watched);

// Returns the types and helpers of kernels with C++ in place of cuda_instructions().
std::string without_ptx(std::string prelude);

struct KernelHead {
  std::string name;
  std::string max_threads;  // the expression in __launch_bounds__; "0" without one
};

// Finds the one `__global__ void NAME(` of a text.
KernelHead kernel_head(std::string_view text);

// Returns the text in which every array in shared memory is reported where it is declared, with the lines kept,
// followed by the object `simt_NAME` (Entry, unit.h).
std::string emulated_text(std::string_view text, const KernelHead& head);

}  // namespace kb::simt
