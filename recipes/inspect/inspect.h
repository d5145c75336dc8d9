// The compiler's report on a model, for people: parameters, passes with their times, the schedule step by step, memory
// and the tensors that are live at its peak.
#pragma once
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/schedule_table.h"
#include "runtime/backend.h"

namespace kb {

// How many nodes, steps, launches and kernels a program has.
struct ProgramTotals {
  size_t nodes = 0, steps = 0, launches = 0, distinct_kernels = 0;
};

ProgramTotals program_totals(const Program& program);

// Returns the report. The schedule's table fits into `columns` as schedule_lines() says.
std::string inspection_text(const Compiled& compiled, const LoadReport& load, int columns = kTableColumns);

// Returns the report on a program for a GPU that need not be present.
std::string inspection_text(const Compiled& compiled, const DeviceKernels& kernels, int columns = kTableColumns);

}  // namespace kb
