// The command sweep: it searches for the fewest steps to a target, over minibatches and other flags.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

// Runs the command and returns its exit code. Throws UsageError for words that it cannot understand.
int sweep_command(const ToolArguments& arguments);

}  // namespace kb
