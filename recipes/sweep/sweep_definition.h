// Definition of a sweep: minibatches, ranges, how many trials and seeds, the target. It is kept as sweep.json in the
// store.
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

// How the points of a minibatch lie in the ranges.
enum class PointKind : uint8_t { halton, even };

struct SweepRange {
  SearchRange range;
  // Whether the recipe takes the values of two thirds more of the range beyond its low and its high end.
  bool widens_below = false, widens_above = false;

  bool operator==(const SweepRange&) const = default;
};

// By which a sweep plans its trials. The values here are those of stores that do not say, of release 0.1; a new sweep
// has those of its flags (SweepFlags).
struct SweepConstants {
  double hopeless = 1.25;  // a trial ends once it took more than so many times the steps of its minibatch's best one
  double least_cap = 1.5;  // least steps that --cap leaves a trial, times those of the minibatch before's best one
  double seed_cap = 0;     // steps of the best trial's further seeds, times its own; 0: as of a trial that searches
  double edge = 0;         // outer share of a range in which the best trial has it widened, and not at its end alone
  double draws = 1;        // points of a minibatch, times its trials, where some of them diverge
  int64_t widenings = 2;   // times that a minibatch's ranges are widened, by a third of one of them each

  bool operator==(const SweepConstants&) const = default;
};

struct SweepDefinition {
  std::string recipe;
  std::vector<std::string> words;        // flags of every trial, --target among them
  std::vector<int64_t> minibatches;      // growing
  std::vector<SweepRange> ranges;        // one a flag that is searched
  std::map<std::string, double> centre;  // of the relative ranges by their flags, for the first minibatch
  PointKind points = PointKind::halton;
  int64_t point_seed = 0;  // see halton_point
  int64_t trials = 12;     // points of a minibatch that do not diverge, before any range is widened
  int64_t first_seed = 1;  // seed of every trial that searches
  int64_t seeds = 1;       // that the best of each minibatch is trained under, the first one included
  double cap = 3;          // samples of a trial, times those to the target of the minibatch before
  SweepConstants constants = {};
  int shards = 0;                // of a trial (--shards), as on the machine that the sweep began on
  std::string commit, compiler;  // of the programs that train it (runtime/commit.h); empty: they were not kept
};

// The figure that every trial is to reach.
TargetFigure target_of(const SweepDefinition& definition);

// Returns names and values of all that stays as it is in a sweep which is gone on with: the recipe, its flags, what is
// searched, and how it is planned.
std::vector<std::pair<std::string, std::string>> definition_parts(const SweepDefinition& definition);
// "lr 0.0125 at minibatch 8", what relative ranges lie around at the first minibatch; at each other one that is the
// best of the minibatch before. "" where no range is relative.
std::string centre_text(const SweepDefinition& definition);

// A sentence where an optimizer keeps one beta2 over several minibatches, which then cannot be compared; "" elsewhere.
std::string beta2_note(const SweepDefinition& definition);

// Whether its trials keep one learning rate behind their warmup (--schedule constant).
bool has_constant_rate(const SweepDefinition& definition);

// Most trials of a minibatch, before any range is widened, and most widenings of its ranges; seeds are at most
// kMostSeeds (recipes/config/values.h).
inline constexpr int64_t kMostTrials = 1000, kMostWidenings = 9;

// The first of commit and compiler by which this program is another build than the one that began the sweep; nothing
// where it is the same, or the definition does not say.
struct BuildDifference {
  const char* part;
  std::string there, own;
};
std::optional<BuildDifference> build_difference(const SweepDefinition& definition);
// Throws Error where there is one. `store`: the sweep's folder.
void check_build(const SweepDefinition& definition, const std::string& store);

// Throws Error where a number of the definition is out of its bounds. `what` names the definition in errors.
void check_bounds(const SweepDefinition& definition, const std::string& what);

std::string definition_json(const SweepDefinition& definition);
// `what` names the text in errors. Throws Error for a text that is no such definition.
SweepDefinition parse_definition(const std::string& text, const std::string& what);

// Returns the definition of a store that is gone on with: as it is `there`, and grown to what is `asked` where that has
// more minibatches, trials or seeds. Words that change no bit, such as --data, are those asked for. Throws Error with
// the difference where it is another sweep, or another build's. `store`: its folder, for the message.
SweepDefinition grown_definition(const SweepDefinition& there, SweepDefinition asked, const std::string& store);

}  // namespace kb
