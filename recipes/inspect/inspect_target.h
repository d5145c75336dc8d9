// inspect --target: reports on programs for a GPU that need not be present.
#pragma once
#include <optional>

#include "recipes/inspect/inspect_programs.h"
#include "recipes/inspect/step_model.h"

namespace kb {

struct Inspected {
  Programs programs;
  std::optional<StepModel> model;  // forecast of a step; set with --rates
};

// Compiles for the GPU, prints the report and returns what was compiled.
Inspected inspect_for_target(const ToolCall& call, const InspectOptions& options);

}  // namespace kb
