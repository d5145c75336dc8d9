// Checks the rules that every kernel must satisfy, whoever wrote it; printers and the interpreter rely on them.
#pragma once
#include "compiler/kernel_ir.h"

namespace kb::ir {

// Checks that every register is set once and before its uses, types fit, buffers exist, lane_varying is consistent, and
// barriers stand only outside thread loops. Throws InternalError.
void verify(const Kernel& kernel);

}  // namespace kb::ir
