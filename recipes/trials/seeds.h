// `--seeds A..B`: the same training under several seeds, and what they say together.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/task/model.h"

namespace kb {

// Trains the recipe once for each of config.looking.seeds, config.looking.jobs at once, each in a process of this
// program, into a run folder of its own below --out (runs/RECIPE-seeds-TIME where it is not given), and prints what
// came of each, their mean and standard deviation. Writes summary.json and curves.svg there. The same command goes on
// with a study that was stopped; other seeds add to it. Returns an exit code: 128 + the signal's number where one
// stopped it, 4 where every seed diverged, 1 where a training failed, else 0. Throws UsageError for flags that ask
// something of one training alone. `words`: the command line that gave the configuration.
int train_seeds(const Recipe& recipe, const RunConfig& config, const std::vector<std::string>& words);

}  // namespace kb
