// Statements of the papers, held against the trainings of `hour`.
//
// A claim bounds the difference of two configurations' errors by a margin. It is judged by where the 95 % interval of
// the difference (Welch's, 2.5 % on each side) lies against the margin, after the first seeds, and where it is
// undecided once more after each further one, up to kMostHourSeeds. Of claims that lie at their margin 5 % and a little
// more are then decided wrongly to either side, the looks at three, four and five seeds together. Where seeds diverged,
// the errors are ranked, a divergence last (Mann and Whitney's exact test, 2.5 % on each side). One seed decides
// nothing.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"
#include "recipes/trials/summary.h"

namespace kb {

inline constexpr size_t kFewestHourLooks = 3, kMostHourSeeds = 5;  // seeds of the first look and of the last

// not_tested: trainings that it needs are missing. seen, not_seen: of one seed.
enum class Verdict : uint8_t { held, not_held, undecided, seen, not_seen, not_tested };

const char* text_of(Verdict verdict);  // "held", "not held", ..

// Judgement of a margin by the errors of two configurations.
struct HourEvidence {
  Verdict verdict = Verdict::not_tested;
  size_t seeds = 0;        // seeds of each configuration that it is judged by
  bool is_ranked = false;  // seeds diverged: `p` is the smaller tail's
  double p = 1;
  std::optional<double> difference = {};  // difference of the means, points of the error; nothing where seeds diverged
  double low = 0, high = 0;               // its interval; both 0 where no variance is known
};

// Judges whether the first configuration's error is at most (else at least) `margin` above the second's. Errors are in
// per cent, one a seed, infinity where it diverged; `first_look`: seeds of the first look, which there are of both.
HourEvidence judge_difference(const std::vector<double>& errors, const std::vector<double>& reference, double margin,
                              bool is_at_most, size_t first_look);

struct HourClaim {
  std::string claim;                     // in words
  std::string paper;                     // figures there
  std::string ours = {};                 // figures here; why it is not tested
  std::string criterion = {};            // under which it holds here, in points of the error in %
  std::string arm = {}, reference = {};  // names of the configurations; empty where it cannot be tested here
  HourEvidence evidence = {};
};

// `arms`: by their names, a run a seed, in one order; those that are missing make claims untested. `first_look`: seeds
// that every arm has.
std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms, size_t first_look);

// Returns how many seeds of an arm the claims ask for: one more than there are where one is undecided.
size_t seeds_wanted(const std::vector<HourClaim>& claims, const std::string& arm, size_t first_look);

}  // namespace kb
