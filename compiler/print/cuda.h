// Prints a GPU kernel as CUDA C++ that NVRTC compiles without includes. A thread runs the lanes of a lane loop in an
// unrolled loop; aligned accesses are whole vectors.
//
// All that the text may hold besides C++20 expressions, declarations, templates and `for` and `if` (whoever runs it
// elsewhere implements this list):
//   extern "C" __global__ __launch_bounds__(N)   static __device__ __forceinline__   __shared__   alignas
//   #pragma unroll [N]
//   threadIdx.x   blockIdx.x   (unsigned; a launch is one-dimensional in both)
//   __syncthreads()   __threadfence()   atomicInc(unsigned*, unsigned)
//   __float_as_uint   __uint_as_float   __fmaf_rn   __fma_rn   __fsqrt_rn   __dsqrt_rn   __umulhi   __mulhi
//   fabsf   fabs   floorf   floor   and of double alone: the functions of the C library in graph/pointwise_ops.inc
// Compile with -fmad=false -prec-div=true -prec-sqrt=true -ftz=false: then +, -, *, / are IEEE's as on a CPU.
#pragma once
#include <string>

#include "compiler/kernel_ir.h"

namespace kb {

// Types and helpers that the kernels of one program share; comes first, once.
std::string cuda_prelude();

// extern "C" __global__ void NAME(one pointer a buffer, then one long long an argument), to be launched with as many
// blocks as its phase has tiles, of kernel.block_threads threads.
std::string print_cuda(const ir::Kernel& kernel);

}  // namespace kb
