// Commands that tell what a training step is made of and what it costs. Each returns its exit code, and throws
// UsageError for words that it cannot understand.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

int inspect_command(const ToolArguments& arguments);  // the schedule, kernels and memory of a step
int bench_command(const ToolArguments& arguments);    // the times of a step, part by part
int scale_command(const ToolArguments& arguments);    // a forecast for many workers
int trace_command(const ToolArguments& arguments);    // what the first steps compute, as files

}  // namespace kb
