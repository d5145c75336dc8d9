// The trainings of `hour`, "ImageNet in 1 hour" in small: those that show the effects of Goyal et al. 2017 on LeNet
// with batch norm, and large minibatches as in You et al. 2017. All have n = 32 samples per worker (section 2.3 of the
// former).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/run_reader.h"
#include "recipes/trials/search_space.h"
#include "recipes/trials/trial.h"

namespace kb {

// A configuration, trained under several seeds.
struct HourArm {
  std::string name;                      // "kn512-gradual", with which the names of its trials begin
  int64_t minibatch = 32;                // kn, samples per step
  std::string rate;                      // learning rate after the warmup, in words: "0.4 = 0.025 x 16"
  std::string start;                     // how the training begins: "gradual warmup"
  std::vector<std::string> words;        // flags of lenet_mnist
  std::string paper;                     // the paper's configuration that it stands for: "kn 8k, no warmup"
  std::string paper_error;               // error in the paper, %: "24.84 +- 0.37"
  std::string source;                    // place of that error in the paper: "table 1"
  std::vector<SearchRange> search = {};  // flags whose values are searched before its seeds are trained
};

enum class HourPlan : uint8_t { brief, full };

// Returns the arms of a plan over `epochs` epochs; the first is the baseline.
std::vector<HourArm> hour_arms(HourPlan plan, int64_t epochs);

// The searches of `hour`: the rates and warmups of two optimizers that are compared, with as many trials for each.
inline constexpr int64_t kHourTrials = 12;  // number of trials per searched arm

// A trial of a search: one point in the arm's ranges.
struct HourTrial {
  std::string name;                           // "kn4096-lars-t03"
  std::map<std::string, std::string> values;  // values by flag, without dashes
  std::vector<std::string> words;             // flags of lenet_mnist
};

// Returns trials at the points of a Halton sequence in the ranges of the arm; none if the arm is not searched.
std::vector<HourTrial> trials_of_search(const HourArm& arm);

// The state of an arm's search.
struct HourChoice {
  size_t done = 0, diverged = 0;       // numbers of trials
  std::optional<HourTrial> best = {};  // the trial with the least error on the held-out samples, the first of equals
  double error = 0;                    // fraction of wrong answers of `best` on the held-out samples
  bool is_complete() const { return done == kHourTrials; }
};

// Returns the state of the arm's search. `runs`: trials that are done, by name.
HourChoice choice_of(const HourArm& arm, const std::map<std::string, RunReport>& runs);

// Returns the arm with the values of a trial, without a search.
HourArm at_trial(HourArm arm, const HourTrial& trial);

// Returns a line about a search: "kn4096-lars: 12 trials of lr=1:128:log warmup-epochs=0:6:linear, 2 diverged, lr 23.1,
// warmup-epochs 2.25: 9.80 % held out".
std::string choice_text(const HourArm& arm, const HourChoice& choice);

}  // namespace kb
