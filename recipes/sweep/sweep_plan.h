// The plan of a sweep: which trials it has, and which of them may run now. A pure function of the sweep's definition
// and of what its run folders say, so that every process of a sweep comes to the same plan, whenever it looks.
//
// Minibatches are searched in growing order: --trials points in the ranges, those beyond an edge where the best lies at
// it, and then the best under further seeds, beside the search of the next minibatch. The best trial is the one that
// took the fewest steps to the target, interpolated between evaluations, the first of equals (Shallue et al. 2019,
// arXiv 1811.03600, section 4.1).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/sweep/sweep_definition.h"

namespace kb {

// Standing of a trial, as its run folder says.
struct TrialStanding {
  enum class End : uint8_t { none, reached, missed, diverged, refused, failed };

  End end = End::none;      // none: it runs, or was stopped
  int64_t steps = 0;        // done
  int64_t target_step = 0;  // where it reached the target
  double samples = 0;       // seen until then
  bool is_stopped = false;  // of one without an end: it made its checkpoint, and does not run
  double crossing = 0;      // steps at which it crossed the target, between two evaluations (target_crossing)
};
using Standings = std::map<std::string, TrialStanding>;  // by names; a trial that was not begun has none

// How a minibatch began to be searched; it is kept from then on, whatever the sweep grows to later.
struct Opening {
  std::map<std::string, double> centre;  // of the relative ranges, by their flags
  int64_t most_steps = 0;                // of a trial; 0: as its flags say

  bool operator==(const Opening&) const = default;
};
using Openings = std::map<int64_t, Opening>;  // by minibatches

// hopeless: took more than SweepConstants::hopeless x the steps of its minibatch's best trial without reaching the
// target, however it ended. The best trial's steps only ever become fewer, so that a trial which is hopeless once stays
// so. refused:
// the recipe does not take its values, in whatever process. failed: in this process, and another one may do it: no
// trial has failed for all, and its minibatch is not searched before it is done.
enum class TrialState : uint8_t { waiting, reached, missed, diverged, hopeless, refused, failed };
std::string text_of(TrialState state);

struct PlannedTrial {
  std::string name;  // of its run folder: "kn64-p03", "kn64-above1-lr-p00", "kn64-p03-seed-2"
  int64_t minibatch = 0, seed = 0;
  std::map<std::string, std::string> values = {};  // of the flags that are searched
  int64_t most_steps = 0;                          // 0: as its flags say
  std::vector<double> point = {};                  // its places in the ranges (value_at)
  bool is_search = true;                           // false: the best one under another seed
  TrialState state = TrialState::waiting;
  TrialStanding standing = {};

  // Whether its run folder stays as it is.
  bool is_final() const;
};

// A best trial at the edge of what was tried, which is not widened any more: the best value may lie beyond. The edge is
// the outer share SweepConstants::edge of the range, unless all trials beyond the best one diverged.
struct RangeBound {
  std::string flag;
  bool is_above = false;  // it is the greatest value that was tried; else the least

  bool operator==(const RangeBound&) const = default;
};

struct MinibatchPlan {
  int64_t minibatch = 0;
  Opening opening = {};
  bool is_open = false;                   // its trials may run
  bool is_new = false;                    // its opening was not kept yet
  bool is_searched = false;               // its best trial is found, or there is none
  std::vector<PlannedTrial> trials = {};  // known so far: those that search, then seeds
  std::optional<size_t> best = {};        // of them
  std::vector<RangeBound> bounds = {};    // once it is searched
};

struct SweepPlan {
  std::vector<MinibatchPlan> minibatches;

  // Trials that may run, the most urgent first: those that search, by minibatch, then seeds.
  std::vector<const PlannedTrial*> waiting() const;
  const PlannedTrial* find(const std::string& name) const;  // null: there is none
  bool is_done() const;
  size_t count(TrialState state) const;
  size_t closed() const;                                        // trials that are neither waiting nor failed
  size_t most_trials(const SweepDefinition& definition) const;  // that there may be in the end, if no more diverge
};

// Places in the ranges of the trials of each minibatch, if none diverges and before any range is widened.
std::vector<std::vector<double>> points_of(const SweepDefinition& definition);

SweepPlan plan_sweep(const SweepDefinition& definition, const Openings& openings, const Standings& standings);

}  // namespace kb
