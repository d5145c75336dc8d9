// --print-schedule: shows what the optimizer will be given, step by step, before anything is compiled.
#pragma once
#include <string>

#include "recipes/config/learning.h"

namespace kb {

// Returns a table with a line per epoch, at most some 40 evenly chosen ones, and lines where the warmup ends and the
// rate drops: step, epoch, samples seen, learning rate, that of layers which are not adapted, and what else the
// optimizer derives from the step.
std::string schedule_text(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

// Returns the learning rate over epochs as SVG.
std::string schedule_picture(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

// Prints the table, and writes the picture if --print-schedule names a file. The number of samples is that of the data
// set, which is read if nothing else tells it.
void print_schedule(const Recipe& recipe, const RunConfig& config);

}  // namespace kb
