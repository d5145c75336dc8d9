// The programs that inspect reports on, as its flags choose them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/inspect/step_model.h"
#include "recipes/run/tool.h"
#include "recipes/train/programs.h"

namespace kb {

struct InspectOptions {
  bool json = false, predict = false;
  std::string target, rates;
};

const Compiled& chosen(const Programs& programs, const InspectOptions& options);

Programs compiled_for(const ToolCall& call, const Target& target);

// Prints "lenet_mnist on cpu: avx2", the reason for that device, "minibatch 64, f32", each on a line, and an empty
// line.
void print_heading(const ToolCall& call, const std::string& where, const std::string& reason);

// Returns the programs that end a step, in their order.
std::vector<const Schedule*> last_routine(const Compiled& compiled);

struct Inspected {
  Programs programs;
  std::optional<StepModel> model;  // forecast of a step; set with --rates
};

// Compiles for a GPU that need not be present (inspect --target), prints the report and returns what was compiled.
Inspected inspect_for_target(const ToolCall& call, const InspectOptions& options);

}  // namespace kb
