// Claims of the papers, tested on the trainings of `hour`.
//
// A claim bounds the difference of two configurations' errors by a margin. It is judged by where the 95 % interval of
// the difference (Welch's, 2.5 % on each side) lies relative to the margin: with the first seeds, and while it is
// undecided once more with each further seed, up to kMostHourSeeds. If the true difference equals the margin, 5 % of
// such claims and a little more are decided wrongly to either side, over the looks at three, four and five seeds
// together. If seeds diverged, the errors are ranked, a divergence last (exact test of Mann and Whitney, 2.5 % on each
// side). One seed decides nothing.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"
#include "recipes/trials/summary.h"

namespace kb {

inline constexpr size_t kFewestHourLooks = 3, kMostHourSeeds = 5;  // number of seeds at the first look and at the last

// A verdict on a claim. not_tested: trainings that it needs are missing. seen, not_seen: what one seed shows.
enum class Verdict : uint8_t { held, not_held, undecided, seen, not_seen, not_tested };

const char* text_of(Verdict verdict);  // "held", "not held", ..

// Errors of two configurations, compared with a margin, and the verdict that follows.
struct HourEvidence {
  Verdict verdict = Verdict::not_tested;
  size_t seeds = 0;                       // number of seeds of each configuration that the verdict uses
  bool is_ranked = false;                 // true if seeds diverged, so that errors are ranked
  double p = 1;                           // probability of the smaller tail if errors are ranked
  std::optional<double> difference = {};  // difference of the means in percentage points; empty if seeds diverged
  double low = 0, high = 0;               // ends of the difference's 95 % interval; both 0 if no variance is known
};

// Judges whether the error of the first configuration is at most (`is_at_most`; else at least) `margin` above that of
// the second. Errors are in per cent, one per seed, infinity for a run that diverged. `first_look`: number of seeds at
// the first look, which both have to have.
HourEvidence judge_difference(const std::vector<double>& errors, const std::vector<double>& reference, double margin,
                              bool is_at_most, size_t first_look);

struct HourClaim {
  std::string claim;           // statement in words
  std::string paper;           // figures in the paper
  std::string ours = {};       // figures of this study; if the claim cannot be tested, the reason
  std::string criterion = {};  // condition under which the claim holds here, in percentage points of the error
  std::string arm = {}, reference = {};  // names of the configurations; empty if it cannot be tested here
  HourEvidence evidence = {};
};

// Returns the claims of a plan, judged. `arms`: results by arm, one run per seed, with the seeds in the same order;
// claims about missing arms are not tested. `first_look`: number of seeds that every arm has.
std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms, size_t first_look);

// Returns how many seeds of an arm the claims ask for: one more than it has if a claim about it is undecided.
size_t seeds_wanted(const std::vector<HourClaim>& claims, const std::string& arm, size_t first_look);

}  // namespace kb
