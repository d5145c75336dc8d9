// Trains a recipe as a command line asks: compiles, trains, evaluates, and leaves a run folder.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

// Trains and returns the exit code (recipes/commands/program.h); throws what goes wrong. `arguments`: words of the
// command line after the program. `program`: words between this program and `arguments` when mpirun starts its
// processes; none for a recipe's own program.
int train_recipe(const Recipe& recipe, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& program = {});

}  // namespace kb
