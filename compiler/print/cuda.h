// print_cuda() turns a GPU kernel into CUDA C++ that NVRTC compiles without includes. A thread runs the lanes of a lane
// loop in an unrolled loop; aligned accesses are whole vectors.
//
// Besides C++20 expressions, declarations, templates, `for` and `if`, the text holds only what this list names. A
// program that runs the text without CUDA has to implement the list:
//   extern "C" __global__ __launch_bounds__(N)   static __device__ __forceinline__   __shared__   alignas
//   extern __shared__ __align__(N)   (block storage that is given at launch)
//   #pragma unroll [N]
//   threadIdx.x   blockIdx.x   (unsigned; a launch is one-dimensional in both)
//   __syncthreads()   __threadfence()   atomicInc(unsigned*, unsigned)
//   __float_as_uint   __uint_as_float   __fmaf_rn   __fma_rn   __fsqrt_rn   __dsqrt_rn   __umulhi   __mulhi
//   the functions of cuda_instructions(), which hold PTX
//   fabsf   fabs   floorf   floor   and, on double only, the functions of the C library in graph/pointwise_ops.inc
// It must be compiled with -fmad=false -prec-div=true -prec-sqrt=true -ftz=false: then +, -, * and / round as IEEE 754
// says, to the same bits as on a CPU.
#pragma once
#include <string>

#include "compiler/kernel_ir.h"

namespace kb {

// Returns the types and helpers that the kernels of one program share. The text stands once, before the kernels.
std::string cuda_prelude();

// Returns the part of cuda_prelude() that is written in PTX.
std::string cuda_instructions();

// Returns the kernel as an `extern "C" __global__ void NAME(...)`, whose parameters are one pointer per buffer and then
// one long long per argument. It is launched with one block per tile of its phase, of kernel.block_threads threads
// each.
std::string print_cuda(const ir::Kernel& kernel);

}  // namespace kb
