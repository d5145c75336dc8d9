// Commands that a person may run next, with the flags that the run was given.
#pragma once
#include <map>
#include <string>

#include "recipes/config/flags.h"
#include "recipes/config/plan.h"

namespace kb {

// Returns the command that starts the recipe with those of `config` that are not the recipe's defaults, each quoted for
// a shell. `changes`: values of flags by name, "--minibatch", in place of those; an empty one leaves the flag out.
std::string command_with(const Recipe& recipe, const RunConfig& config,
                         const std::map<std::string, std::string>& changes);

// Returns the lines for the end of a run: the linear scaling rule at four times the minibatch (Goyal et al. 2017,
// sections 2.1 and 2.2; left out where the training part has fewer samples), another seed, and the compiled program.
// `config`: as given, before anything was derived from them.
std::string what_next(const Recipe& recipe, const RunConfig& config, const RunPlan& plan);

}  // namespace kb
