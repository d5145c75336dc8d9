// The definition of a sweep: minibatches, ranges, numbers of trials and seeds, the target. The store keeps it as
// sweep.json.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/config/target_figure.h"
#include "recipes/trials/search_space.h"

namespace kb {

struct RunReport;

// How the points of a minibatch lie in the ranges.
enum class PointKind : uint8_t { halton, even };

// A range of the search, and whether it may be widened.
struct SweepRange {
  SearchRange range;
  // Whether the recipe accepts the values beyond the low end and beyond the high end of the range, as far as all
  // widenings at that end would go (two thirds of the range by default).
  bool widens_below = false, widens_above = false;

  bool operator==(const SweepRange&) const = default;
};

// Constants by which a sweep plans its trials. The initial values here are those of stores of release 0.1, which do not
// keep them; a new sweep has those of its flags (SweepFlags).
struct SweepConstants {
  double hopeless = 1.25;  // a trial ends after this many times the steps of its minibatch's best one
  double least_cap = 1.5;  // least steps that --cap leaves a trial, times the best trial's at the minibatch before
  double seed_cap = 0;     // steps of the best trial's further seeds, times its own; 0: as trials that search
  double edge = 0;         // outer share of a range in which the best trial has it widened; 0: its end alone
  double draws = 1;        // most points of a minibatch if some of them diverge, times `trials`
  int64_t widenings = 2;   // most widenings of a minibatch's ranges, each by a third of one range

  bool operator==(const SweepConstants&) const = default;
};

struct SweepDefinition {
  std::string recipe;
  std::vector<std::string> words;        // flags of every trial, including --target
  std::vector<int64_t> minibatches;      // in ascending order
  std::vector<SweepRange> ranges;        // one for each flag that is searched
  std::map<std::string, double> centre;  // centres of the relative ranges at the first minibatch, by flag
  PointKind points = PointKind::halton;
  int64_t point_seed = 0;  // seed of halton_point()
  int64_t trials = 12;     // points of a minibatch that do not diverge, before any range is widened
  int64_t first_seed = 1;  // seed of every trial that searches
  int64_t seeds = 1;       // number of seeds that the best trial of a minibatch is trained under, including its own
  double cap = 3;          // most samples of a trial, times those to the target at the minibatch before
  SweepConstants constants = {};
  int shards = 0;                // shards of a trial (--shards), chosen on the machine where the sweep began
  std::string commit, compiler;  // build of the programs that train it (runtime/commit.h); empty: not known
};

// Returns the value after a flag of every trial; "" if the flag is not among their words.
std::string value_behind(const SweepDefinition& definition, std::string_view flag);
// Returns the figure that every trial is to reach.
TargetFigure target_of(const SweepDefinition& definition);

// Returns names and values of all parts that must stay the same when a sweep is continued: the recipe, its flags, the
// search, and how trials are planned.
std::vector<std::pair<std::string, std::string>> definition_parts(const SweepDefinition& definition);
// Returns "lr 0.0125 at minibatch 8": the centres of the relative ranges at the first minibatch. At every other one it
// is the best value of the minibatch before. Returns "" if no range is relative.
std::string centre_text(const SweepDefinition& definition);

// Returns a warning if the optimizer has one beta2 at several minibatches, which then cannot be compared; otherwise "".
std::string beta2_note(const SweepDefinition& definition);

// Returns whether the trials keep one learning rate after their warmup (--schedule constant).
bool has_constant_rate(const SweepDefinition& definition);

// Greatest number of trials of a minibatch before any range is widened, and of widenings of its ranges. The greatest
// number of seeds is kMostSeeds (recipes/config/values.h).
inline constexpr int64_t kMostTrials = 1000, kMostWidenings = 9;

// A part of the build, the commit or the compiler, by which this program differs from the one that began the sweep.
struct BuildDifference {
  const char* part;
  std::string there, own;
};
// Returns the first difference; nothing if both builds are the same, or if the definition does not tell the build.
std::optional<BuildDifference> build_difference(const SweepDefinition& definition);
// Throws Error if there is a difference. `store`: the sweep's folder, for the message.
void check_build(const SweepDefinition& definition, const std::string& store);

// Throws UsageError if a number of the definition is out of its bounds. `what` names the definition in errors.
void check_bounds(const SweepDefinition& definition, const std::string& what);

// Returns the text of sweep.json.
std::string definition_json(const SweepDefinition& definition);
// Reads the text of sweep.json. Throws Error if it is no such definition. `what` names the text in errors.
SweepDefinition parse_definition(const std::string& text, const std::string& what);

// Returns the definition of a store whose sweep is continued: the one that is `there`, grown to `asked` if that has
// more minibatches, trials or seeds. Words that change no bit, such as --data, are taken from `asked`. Throws Error
// with the difference if `asked` is another sweep or another build's. `store`: its folder, for the message.
SweepDefinition grown_definition(const SweepDefinition& there, SweepDefinition asked, const std::string& store);

// Which run a trial's folder holds, as its manifest says. Folders that are copied from another sweep, or trained before
// a minibatch was planned anew, hold the run of another trial.
struct TrialRun {
  int64_t minibatch = 0, seed = 0;
  std::optional<double> rate;         // learning rate after the warmup
  std::optional<std::string> target;  // text of --target, "" without one; nothing: the manifest does not tell it
};

TrialRun trial_run(const RunReport& report);

// Returns the first way in which a run is not the expected one: "expected a run of minibatch 64, got one of minibatch
// 512"; "" if it is. An expected rate of nothing is any rate.
std::string difference_text(const TrialRun& expected, const TrialRun& got);

}  // namespace kb
