// `--seeds A..B`: the same training under several seeds, and statistics of the results.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/task/model.h"

namespace kb {

// Trains the recipe once for each of config.looking.seeds, config.looking.jobs at once, each in a process of this
// program and with a run folder of its own below --out (default: runs/RECIPE-seeds-TIME). Prints the result of each,
// their mean and standard deviation, and writes summary.json and curves.svg there. A command that is repeated continues
// a study that was stopped, and further seeds are added to the study. Returns an exit code: 128 + the signal's number
// if a signal stopped the study, 1 if a training failed, 4 if every seed diverged, else 0. Throws UsageError for flags
// that are meant for one training alone. `words`: the command line that gave the configuration.
int train_seeds(const Recipe& recipe, const RunConfig& config, const std::vector<std::string>& words);

}  // namespace kb
