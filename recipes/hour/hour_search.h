// Searches of `hour`: rates and warmups of two optimizers that are held against each other, as many trials for each.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/trial.h"

namespace kb {

inline constexpr int64_t kHourTrials = 12;  // trials of an arm that is searched

// A point of an arm's ranges.
struct HourTrial {
  std::string name;                           // "kn4096-lars-t03"
  std::map<std::string, std::string> values;  // flags without dashes, and their values
  std::vector<std::string> words;             // flags of lenet_mnist
};

// Returns the points of a Halton sequence in the ranges of the arm; none where it is not searched.
std::vector<HourTrial> trials_of_search(const HourArm& arm);

// Standing of an arm's search.
struct HourChoice {
  size_t done = 0, diverged = 0;       // trials
  std::optional<HourTrial> best = {};  // the one with the least error on the held-out samples, the first of equals
  double error = 0;                    // its share of wrong answers there
  bool is_complete() const { return done == kHourTrials; }
};

// `runs`: trials that are done, by their names.
HourChoice choice_of(const HourArm& arm, const std::map<std::string, RunReport>& runs);

// Returns the arm at the values of a trial, without a search.
HourArm at_trial(HourArm arm, const HourTrial& trial);

// "12 trials of lr=1:128:log, warmup-epochs=0:6:linear; 2 diverged; lr 23.1, warmup-epochs 2.25: 9.80 % held out"
std::string choice_text(const HourArm& arm, const HourChoice& choice);

}  // namespace kb
