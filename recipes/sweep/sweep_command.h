// The command that looks for the steps to a target over minibatches and what else is searched.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

// Returns the exit code; throws UsageError for words that it cannot understand.
int sweep_command(const ToolArguments& arguments);

}  // namespace kb
