// The compiler's report on a model, as text for people and as JSON: parameters, passes with their times, the schedule
// step by step, memory and the tensors that are live at its peak.
#pragma once
#include <string>

#include "compiler/passes/parameter_space.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/schedule_table.h"
#include "recipes/inspect/step_model.h"
#include "runtime/backend.h"

namespace kb {

// Returns a line for every parameter - name, shape, role, number of elements, the factor of its learning rate if one of
// them is not 1, initial distribution - and one of totals.
// A table that is wider than `columns` leaves out the rule of the initial values, then the role, then the values.
std::string parameter_lines(const ParameterSpace& space, int columns = kTableColumns);

// Returns the report. The schedule's table fits into `columns` as schedule_lines() says.
std::string inspection_text(const Compiled& compiled, const LoadReport& load, int columns = kTableColumns);

// Returns the report on a program for a GPU that need not be present.
std::string inspection_text(const Compiled& compiled, const DeviceKernels& kernels, int columns = kTableColumns);

std::string inspection_json(const Compiled& compiled, const LoadReport& load);

// Reports on a program for a GPU that need not be present. `model`: forecast of its times; null if none is asked for.
std::string inspection_json(const Compiled& compiled, const DeviceKernels& kernels, const StepModel* model = nullptr);

}  // namespace kb
