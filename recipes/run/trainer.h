// A recipe trained as a command line asks: compiles, trains, evaluates, and leaves a run folder.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

// Returns the exit code (recipes/commands/program.h) of `arguments`, the words of the command line behind the program;
// throws what goes wrong. `program`: words behind this program that stand before `arguments` where mpirun starts its
// processes; none of a recipe's own program.
int train_recipe(const Recipe& recipe, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& program = {});

}  // namespace kb
