// --print-schedule: what the optimizer will be given, step by step, before anything is compiled.
#pragma once
#include <string>

#include "recipes/config/learning.h"

namespace kb {

// A line an epoch, of at most some 40 chosen evenly, and where the warmup ends and the rate drops: step, epoch, samples
// seen, learning rate, that of layers which are not adapted, and what else the optimizer derives from the step.
std::string schedule_text(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

// The learning rate over epochs, as SVG.
std::string schedule_picture(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

// Prints the table, and writes the picture where --print-schedule names a file. The number of samples is that of the
// data set, which is read where nothing else tells it.
void print_schedule(const Recipe& recipe, const RunConfig& config);

}  // namespace kb
