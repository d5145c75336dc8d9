// Claims of the papers, tested on the trainings of `hour`.
//
// A claim bounds the difference of two configurations' errors by a margin (recipes/trials/verdict.h). While it is
// undecided it is judged once more with each further seed, up to kMostHourSeeds. If the true difference equals the
// margin, 1.8 % of such claims are decided to each side by the looks at three, four and five seeds together; 2.6 % if
// one configuration scatters ten times as much as the other.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"
#include "recipes/trials/judged_claim.h"
#include "recipes/trials/summary.h"

namespace kb {

inline constexpr size_t kFewestHourLooks = 3, kMostHourSeeds = 5;  // number of seeds at the first look and at the last

struct HourClaim : JudgedClaim {         // its differences are percentage points of the error
  std::string arm = {}, reference = {};  // names of the configurations; empty if it cannot be tested here
};

// Returns the claims of a plan, judged. `arms`: results by arm, one run per seed, with the seeds in the same order;
// claims about missing arms are not tested. `first_look`: number of seeds that every arm has.
std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms, size_t first_look);

// Returns how many seeds of an arm the claims ask for: one more than it has if a claim about it is undecided.
size_t seeds_wanted(const std::vector<HourClaim>& claims, const std::string& arm, size_t first_look);

}  // namespace kb
