// Prints a CPU kernel as C++ for g++ (vector extensions, no includes). A lane loop of 16 lanes becomes vectors of the
// processor's own width, as many after each other as it takes, so the bits do not depend on the instruction set.
#pragma once
#include <string>
#include <string_view>

#include "compiler/kernel_ir.h"

namespace kb {

// Width of the vectors to print for Target::isa: "avx512" 64 (needs F, BW, DQ, VL), "avx2" 32 (needs FMA, F16C), any
// other 16 (portable C++).
int vector_bytes(std::string_view isa);

// Types and helpers that the kernels of one file share; comes first in the file, once.
std::string cpp_prelude(int vector_bytes);

// extern "C" void NAME(void* const* buffers, const long* arguments, long phase, long begin, long end): runs the tiles
// [begin, end) of a phase. Compile with -ffp-contract=off -fno-math-errno -fno-trapping-math.
std::string print_cpp(const ir::Kernel& kernel, int vector_bytes);

}  // namespace kb
