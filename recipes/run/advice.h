// Commands that a person may run next, with the flags that the run was given.
#pragma once
#include <map>
#include <string>

#include "recipes/config/flags.h"
#include "recipes/config/plan.h"

namespace kb {

// Returns the command that starts the recipe with those flags of `config` that differ from the recipe's defaults,
// quoted for a shell. `changes`: values by flag ("--minibatch") in place of those; an empty value leaves the flag out.
std::string command_with(const Recipe& recipe, const RunConfig& config,
                         const std::map<std::string, std::string>& changes);

// Returns the commands for the end of a run: the linear scaling rule at four times the minibatch (Goyal et al. 2017,
// sections 2.1 and 2.2; left out if the training part has fewer samples, or if the recipe refuses that minibatch beside
// its options), another seed, and the compiled program.
// `config`: as given, before anything was derived from it. `writer`: the command that shows what the run's model
// writes, which is then the first; empty: it writes nothing.
std::string what_next(const Recipe& recipe, const RunConfig& config, const RunPlan& plan,
                      const std::string& writer = {});

}  // namespace kb
