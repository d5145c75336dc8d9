// Converts the command line of a sweep to its definition, and that to the command lines of its trials.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/sweep/sweep_plan.h"
#include "recipes/trials/trial.h"

namespace kb {

// Flags of the sweep itself, as the user gives them.
struct SweepFlags {
  std::string grid;                 // "minibatch=8:4096:x2"
  std::vector<std::string> search;  // "lr=x0.125:8"
  std::string points = "halton";
  int64_t point_seed = 0, trials = 12, seeds = 1;
  double cap = 3;
  SweepConstants constants = {.seed_cap = 4, .edge = 0.15, .draws = 2};
};

// Returns the sweep that the flags and the recipe's words ask for. Every flag that is searched has to be one of the
// recipe's, which accepts the values of its range. Without --validation a tenth of the training part, at most 10,000
// samples, is held out; without --eval-every evaluations come after 1.1^k steps; without --keep a trial keeps two
// checkpoints. Throws UsageError, and Error for a minibatch that is larger than the training part, whose size follows
// from the data set's name if it is not on this machine. `shards`: shards of a trial.
SweepDefinition define_sweep(const Recipe& recipe, const SweepFlags& flags, const std::vector<std::string>& words,
                             int shards);

// Returns the configuration of a trial. Throws UsageError if the recipe does not accept it, or if the definition has
// words that no trial can have.
RunConfig config_of_trial(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial);
Trial trial_of(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial);

// Returns why the recipe does not accept the trial's values; "" if it does. Throws UsageError if it does not accept the
// other words of the sweep: then this program or the store is not the one that the sweep began with.
std::string refusal_of(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial);

}  // namespace kb
