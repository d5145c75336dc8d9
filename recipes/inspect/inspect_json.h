// The compiler's report on a model as one JSON object, on one line, for scripts.
#pragma once
#include <string>

#include "compiler/pipeline/pipeline.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/step_model.h"
#include "runtime/backend.h"

namespace kb {

std::string inspection_json(const Compiled& compiled, const LoadReport& load);

// Reports on a program for a GPU that need not be present. `model`: forecast of its times; null if none is asked for.
std::string inspection_json(const Compiled& compiled, const DeviceKernels& kernels, const StepModel* model = nullptr);

}  // namespace kb
