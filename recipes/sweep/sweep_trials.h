// A sweep between its command line and those of its trials.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/sweep/sweep_plan.h"
#include "recipes/trials/trial.h"

namespace kb {

// Flags of the sweep's own, as they are given.
struct SweepFlags {
  std::string grid;                 // "minibatch=8:4096:x2"
  std::vector<std::string> search;  // "lr=x0.125:8"
  std::string points = "halton";
  int64_t point_seed = 0, trials = 12, seeds = 1;
  double cap = 3;
  SweepConstants constants = {.seed_cap = 4, .edge = 0.15, .draws = 2};
};

// Returns the sweep that the flags and the recipe's words ask for: every flag that is searched is one of the recipe's,
// and takes the values of its range. A tenth of the training part, at most 10,000 samples, is held out where
// --validation is not given, evaluations come after 1.1^k steps where --eval-every is not, and a trial keeps two
// checkpoints where --keep is not. Throws UsageError, and Error for a minibatch that is larger than the training part
// that is there; where none is, as the set's name tells. `shards`: of a trial.
SweepDefinition define_sweep(const Recipe& recipe, const SweepFlags& flags, const std::vector<std::string>& words,
                             int shards);

// Returns the configuration of a trial. Throws UsageError where the recipe does not take it, and for words of the
// definition that are none of a trial.
RunConfig config_of_trial(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial);
Trial trial_of(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial);

// Returns why the recipe does not take the trial's values; empty where it does. Throws UsageError where it does not
// take what else the sweep asks for: then this program or the store is another than the sweep began with.
std::string refusal_of(const Recipe& recipe, const SweepDefinition& definition, const PlannedTrial& trial);

}  // namespace kb
