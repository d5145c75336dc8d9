// Commands over a recipe, or over a run of one: ./run COMMAND RECIPE [flags], and PROGRAM COMMAND [flags] for a program
// of a recipe. Each returns its exit code, and throws UsageError for words that it cannot understand.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

int inspect_command(const ToolArguments& arguments);  // the schedule, kernels and memory of a step
int bench_command(const ToolArguments& arguments);    // the times of a step, part by part
int scale_command(const ToolArguments& arguments);    // a forecast for many workers
int export_command(const ToolArguments& arguments);   // a run's model as safetensors
int predict_command(const ToolArguments& arguments);  // the classes that a run's model gives images
int sweep_command(const ToolArguments& arguments);    // trainings to a target: minibatches and what is searched
int trial_command(const ToolArguments& arguments);    // one training of a study, which its executor starts
int rank_command(const ToolArguments& arguments);     // one process of a trial of several

}  // namespace kb
