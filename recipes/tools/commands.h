// The tools that a recipe's program has, too, as commands: PROGRAM inspect [flags]. Each returns its exit code, and
// throws UsageError for words that it cannot understand.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

CommandFunction curvature_command, inspect_command, bench_command, scale_command, trace_steps_command, export_command,
    predict_command, sample_command, sharpness_command, translate_command, sweep_command;

}  // namespace kb
