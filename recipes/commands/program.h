// The main of a recipe's program.
#pragma once
#include "recipes/task/model.h"

namespace kb {

// Does all that a recipe's main has to do: PROGRAM [flags] trains, PROGRAM
// inspect|bench|scale|export|predict|sample|curvature|sharpness|sweep [flags] runs that command on the recipe. A recipe
// that is not in recipes/papers/table.h is a program of its own, which its user starts by its name and not by ./run.
// Returns the exit code: 0 done; 1 an error; 2 a command line that cannot be understood; 3 a fault, of Kilobatch or of
// the recipe's own functions; 4 the run diverged; 128 + N ended by signal N, with a checkpoint if a step was done.
int run_recipe(Recipe recipe, int argc, char** argv);

}  // namespace kb
