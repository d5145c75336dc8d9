// Commands over the model of a run. Each returns its exit code, and throws UsageError for words that it cannot
// understand.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

int export_command(const ToolArguments& arguments);     // a run's model as safetensors
int predict_command(const ToolArguments& arguments);    // the classes that a run's model gives images
int sample_command(const ToolArguments& arguments);     // a text that a run's language model writes
int translate_command(const ToolArguments& arguments);  // what a run's model of sequences writes for others

}  // namespace kb
