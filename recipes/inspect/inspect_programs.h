// Programs that inspect looks at, as its flags choose them.
#pragma once
#include <string>
#include <vector>

#include "recipes/run/tool.h"
#include "recipes/train/programs.h"

namespace kb {

struct InspectOptions {
  bool json = false, predict = false;
  std::string target, rates;
};

const Compiled& chosen(const Programs& programs, const InspectOptions& options);

Programs compiled_for(const ToolCall& call, const Target& target);

// "lenet_mnist on cpu: avx2", why there, "minibatch 64, f32", a line each, and an empty line.
void print_heading(const ToolCall& call, const std::string& where, const std::string& reason);

// The programs that end a step, in their order.
std::vector<const Schedule*> last_routine(const Compiled& compiled);

}  // namespace kb
