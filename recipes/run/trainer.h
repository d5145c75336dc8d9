// A recipe as a program: parses flags, compiles, trains, evaluates, and leaves a run folder.
#pragma once
#include "recipes/task/model.h"

namespace kb {

// All of a recipe's main; one that is not in recipes/papers/table.h is a program of its own, which its user starts by
// its name and not by ./run. Exit codes: 0 trained; 1 an error, or a loss that was not finite; 2 a command line that
// cannot be understood; 3 a fault of Kilobatch's own; 128 + N ended by signal N, with a checkpoint
// where there was a step.
int run_recipe(Recipe recipe, int argc, char** argv);

}  // namespace kb
