// inspect --target: a report on programs for a GPU that need not be there.
#pragma once
#include <optional>

#include "recipes/inspect/inspect_programs.h"
#include "recipes/inspect/step_model.h"

namespace kb {

struct Inspected {
  Programs programs;
  std::optional<StepModel> model;  // where --rates gives a GPU's
};

// Compiles for the GPU, prints the report and gives what was compiled.
Inspected inspect_for_target(const ToolCall& call, const InspectOptions& options);

}  // namespace kb
