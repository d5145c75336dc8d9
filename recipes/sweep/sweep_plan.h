// The plan of a sweep: which trials it has, and which of them may run now. It is a pure function of the sweep's
// definition and of what its run folders say, so that every process of a sweep comes to the same plan at any time.
//
// Minibatches are searched in ascending order: first --trials points in the ranges, then points beyond an edge at which
// the best trial lies. Then the best trial is trained under further seeds, while the next minibatch is searched. The
// best trial is the one that took the fewest steps to the target, interpolated between evaluations; the first one if
// several are equal (Shallue et al. 2019, arXiv 1811.03600, section 4.1).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/sweep/sweep_definition.h"

namespace kb {

// The state of a trial in the plan. hopeless: it took more than SweepConstants::hopeless times the steps of its
// minibatch's best trial without reaching the target, however it ended; the best trial's steps only ever become fewer,
// so that the trial stays hopeless. refused: the recipe does not accept its values, in any process. foreign: its folder
// holds the run of another trial or sweep, and counts for nothing. failed: it failed in this process, and another one
// may still do it; until then its minibatch is not searched.
enum class TrialState : uint8_t { waiting, reached, missed, diverged, hopeless, refused, foreign, failed };

// The standing of a trial, as its run folder says.
struct TrialStanding {
  TrialState end = TrialState::waiting;  // waiting: it has not begun, runs, or was stopped; never hopeless
  int64_t steps = 0;                     // number of steps done
  int64_t target_step = 0;               // number of steps after which it reached the target
  double samples = 0;                    // number of samples seen until then
  bool is_stopped = false;               // true if it has no end, but made its checkpoint and does not run
  double crossing = 0;               // steps at which it crossed the target, between two evaluations (target_crossing)
  std::optional<TrialRun> run = {};  // the run in its folder; nothing: there is none, or it is not known
};
using Standings = std::map<std::string, TrialStanding>;  // standings by trial name; a trial that has not begun has none

// The start of the search of a minibatch. It is kept from then on, even if the sweep grows later.
struct Opening {
  std::map<std::string, double> centre;  // centres of the relative ranges, by flag
  int64_t most_steps = 0;                // greatest number of steps of a trial; 0: as its flags say

  bool operator==(const Opening&) const = default;
};
using Openings = std::map<int64_t, Opening>;  // openings by minibatch

// A trial of the plan.
struct PlannedTrial {
  std::string name;  // name of its run folder: "kn64-p03", "kn64-above1-lr-p00", "kn64-p03-seed-2"
  int64_t minibatch = 0, seed = 0;
  std::map<std::string, std::string> values = {};  // values of the searched flags, by flag
  int64_t most_steps = 0;                          // greatest number of steps; 0: as its flags say
  std::vector<double> point = {};                  // its places in the ranges (value_at)
  bool is_search = true;                           // false: it is the best trial under another seed
  TrialState state = TrialState::waiting;
  TrialStanding standing = {};

  // Returns whether its run folder will not change any more.
  bool is_final() const;
};

// A range in which the best trial lies at the edge of what was tried and that is not widened any more: the best value
// may lie beyond. The edge is the outer share SweepConstants::edge of the range, unless all trials beyond the best one
// diverged.
struct RangeBound {
  std::string flag;
  bool is_above = false;  // true: at the greatest value that was tried; false: at the least

  bool operator==(const RangeBound&) const = default;
};

// The plan of one minibatch.
struct MinibatchPlan {
  int64_t minibatch = 0;
  Opening opening = {};
  bool is_open = false;                   // true if its trials may run
  bool is_new = false;                    // true if its opening is not stored yet
  bool is_searched = false;               // true once its best trial is found, or there is none
  std::vector<PlannedTrial> trials = {};  // trials known so far: those that search, then seeds
  std::optional<size_t> best = {};        // index of the best one among `trials`
  std::vector<RangeBound> bounds = {};    // set once it is searched
};

struct SweepPlan {
  std::vector<MinibatchPlan> minibatches;

  // Returns the trials that may run, the most urgent first: those that search, by minibatch, then seeds.
  std::vector<const PlannedTrial*> waiting() const;
  const PlannedTrial* find(const std::string& name) const;  // returns null if there is none
  bool is_done() const;
  size_t count(TrialState state) const;
  size_t closed() const;                                        // number of trials that are neither waiting nor failed
  size_t most_trials(const SweepDefinition& definition) const;  // greatest number of trials, if no more diverge
};

// Returns the points of each minibatch's trials in the ranges, if no trial diverges and before any range is widened.
std::vector<std::vector<double>> points_of(const SweepDefinition& definition);

// Returns the values of the searched flags at a point, its places in the ranges. `centre` has the centres of the
// relative ranges, by flag. A value is "" where there is none (value_at).
std::map<std::string, std::string> values_at(const SweepDefinition& definition,
                                             const std::map<std::string, double>& centre,
                                             const std::vector<double>& point);

// Returns what the manifest of a trial's run says.
TrialRun expected_run(const PlannedTrial& trial, const SweepDefinition& definition);

// Returns the plan of a sweep with the minibatches that were opened and the trials that have begun.
SweepPlan plan_sweep(const SweepDefinition& definition, const Openings& openings, const Standings& standings);

}  // namespace kb
