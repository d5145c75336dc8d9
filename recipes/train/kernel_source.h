// The generated kernels of a program as one readable source file.
#pragma once
#include <string>

#include "compiler/schedule.h"
#include "compiler/target.h"

namespace kb {

// Every distinct kernel once, behind a comment that names the steps it runs.
std::string kernel_source(const Program& program, const Target& target);

}  // namespace kb
