// The compiler's report on a model, for people: parameters, passes with their times, the schedule step by step, memory
// and the tensors that are live at its peak.
#pragma once
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/schedule_table.h"
#include "runtime/backend.h"

namespace kb {

// The schedule's table fits into `columns`, as schedule_lines() tells.
std::string inspection_text(const Compiled& compiled, const LoadReport& load, int columns = kTableColumns);

// Reports on a program for a GPU that need not be there.
std::string inspection_text(const Compiled& compiled, const DeviceKernels& kernels, int columns = kTableColumns);

}  // namespace kb
