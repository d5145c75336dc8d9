// --print-schedule: shows what the optimizer will be given, step by step, before anything is compiled.
#pragma once
#include <string>

#include "recipes/config/learning.h"
#include "recipes/config/run_config.h"

namespace kb {

// Returns a table with a line per epoch (from 80 epochs on, for every floor(epochs / 40)-th epoch) or, for less than 2
// epochs, 40 evenly chosen steps. Further lines show where the warmup ends and where a step schedule drops. The columns
// are step, epoch, samples seen, learning rate, the other scalars of the optimizer that vary, and with --skip-lr > 0
// the rate of layers that a layer-wise optimizer does not adapt.
std::string schedule_text(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

// Returns the learning rate over epochs as SVG.
std::string schedule_picture(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

// Prints the table, and writes the picture if --print-schedule names a file. The number of samples is that of the data
// set, which is read if nothing else tells it.
void print_schedule(const Recipe& recipe, const RunConfig& config);

}  // namespace kb
