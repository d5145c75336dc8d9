// Prints the generated kernels of a program as one readable source file.
#pragma once
#include <string>

#include "compiler/schedule.h"
#include "compiler/target.h"

namespace kb {

// Returns every distinct kernel once, after a comment that names the steps that run it.
std::string kernel_source(const Program& program, const Target& target);

}  // namespace kb
