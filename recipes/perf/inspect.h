// Reports on what the compiler made of a model, for people and as one JSON object.
#pragma once
#include <string>

#include "compiler/pipeline.h"
#include "recipes/perf/device_kernels.h"
#include "runtime/backend.h"

namespace kb {

// Parameters, passes with their times, the schedule step by step, memory and the tensors that are live at its peak.
std::string inspection_text(const Compiled& compiled, const LoadReport& load);

// One object, on one line.
std::string inspection_json(const Compiled& compiled, const LoadReport& load);

// Both report on a program for a GPU that need not be there.
std::string inspection_text(const Compiled& compiled, const DeviceKernels& kernels);
std::string inspection_json(const Compiled& compiled, const DeviceKernels& kernels, const StepModel* model = nullptr);

// A line for every parameter - name, shape, role, number of elements, initial distribution - and one of totals.
std::string parameter_lines(const ParameterSpace& space);

// "resnet.cpp:21": the user's line of the first node of a step that has one.
std::string step_place(const Schedule& schedule, const Step& step);

}  // namespace kb
