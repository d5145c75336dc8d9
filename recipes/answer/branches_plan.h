// Plans the branches of a run that measure its local critical minibatch (optim/local_critical_batch.h): at each place
// one for every factor k, which goes on with k times the minibatch over the samples that the run saw next.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/plan.h"
#include "recipes/config/run_config.h"
#include "recipes/trials/trial.h"

namespace kb {

struct BranchesRequest {
  std::filesystem::path run = {};              // folder of the run
  std::vector<Period> places = {};             // steps or epochs after which branches leave it
  Period window = {512, Period::Unit::steps};  // how long a branch is trained; steps are the run's own
  std::vector<int64_t> factors = {2, 4, 8};    // k of the branches besides 1, ascending, each > 1
  std::string rule = "sqrt";                   // scaling rule by which k moves the learning rate
  std::optional<int64_t> per_worker = {};      // samples of a virtual worker; nothing: the run's
};

// Reads "RUN@500st,2ep" into run and places. Throws UsageError.
void read_places(const std::string& flag, const std::string& text, BranchesRequest& request);

struct BranchPlace {
  int64_t step = 0;        // steps of the run after which the branches leave it
  int64_t checkpoint = 0;  // steps of the checkpoint that they are trained from: the newest at or before `step`
  int64_t samples = 0;     // samples in those steps
  int64_t minibatch = 0;   // the run's minibatch there
  int64_t window = 0;      // samples of each branch behind the place; a multiple of its minibatch

  int64_t steps_of(int64_t factor) const { return window / (minibatch * factor); }
};

struct BranchesPlan {
  std::filesystem::path run;  // absolute path
  Recipe recipe;
  RunConfig config;              // flags of the branches with k = 1
  RunPlan plan;                  // the run's plan
  std::vector<int64_t> factors;  // ascending, from 1 on
  std::string rule;
  std::vector<BranchPlace> places;  // in the order of their steps
  bool has_noise = false;           // whether branches with k = 1 measure the gradient noise scale
  std::vector<std::string> notes;   // lines for a person
};

// Plans the branches, and tries the flags of each. Throws UsageError or Error if the run is not there, has no
// checkpoint at or before a place, ends within a window, or cannot have such branches.
BranchesPlan plan_branches(const BranchesRequest& request);

// Returns the name of a branch's folder: "500st-x4".
std::string branch_name(const BranchPlace& place, int64_t factor);
// Returns the trainings, place by place.
std::vector<Trial> branch_trials(const BranchesPlan& plan);

}  // namespace kb
