// print_cpp() turns a CPU kernel into C++ for g++, which uses GCC's vector extensions and includes nothing. A lane loop
// always has 16 lanes and is printed as one or several vectors of the processor's own width, so the bits of the results
// do not depend on the instruction set.
#pragma once
#include <string>
#include <string_view>

#include "compiler/kernel_ir.h"

namespace kb {

// Returns the width in bytes of the vectors to print for Target::isa: 64 for "avx512" (the processor needs the subsets
// F, BW, DQ and VL), 32 for "avx2" (it needs FMA and F16C too), 16 for any other (portable C++).
int vector_bytes(std::string_view isa);

// Returns the types and helpers that the kernels of one file share. The text stands once, at the head of the file.
std::string cpp_prelude(int vector_bytes);

// Returns the kernel as a function that runs the tiles [begin, end) of one phase:
//   extern "C" void NAME(void* const* buffers, const long* arguments, long phase, long begin, long end)
// It must be compiled with -ffp-contract=off -fno-math-errno -fno-trapping-math; the first keeps the compiler from
// fusing a multiplication with an addition, which would change the bits.
std::string print_cpp(const ir::Kernel& kernel, int vector_bytes);

}  // namespace kb
