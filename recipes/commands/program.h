// The main of a recipe's program.
#pragma once
#include "recipes/task/model.h"

namespace kb {

// All of a recipe's main: PROGRAM [flags] trains, PROGRAM inspect|bench|scale|export|predict|sweep [flags] runs that
// command on the recipe. A recipe that is not in recipes/papers/table.h is a program of its own, which its user starts
// by its name and not by ./run. Exit codes: 0 done; 1 an error; 2 a command line that cannot be understood; 3 a fault
// of Kilobatch's own; 4 the run diverged; 128 + N ended by signal N, with a checkpoint where there was a step.
int run_recipe(Recipe recipe, int argc, char** argv);

}  // namespace kb
