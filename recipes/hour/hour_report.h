// The report of `hour`: a table of its trainings beside the papers' figures, the claims, and an HTML page with both.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"
#include "recipes/trials/judged_claim.h"
#include "recipes/trials/summary.h"

namespace kb {

inline constexpr size_t kFewestHourLooks = 3, kMostHourSeeds = 5;  // number of seeds at the first look and at the last

// A claim of a paper, which bounds the difference of two configurations' errors, in percentage points, by a margin
// (recipes/trials/verdict.h). While it is undecided it is judged once more with each further seed, up to
// kMostHourSeeds. If the true difference equals the margin, 1.8 % of such claims are decided to each side by the looks
// at three, four and five seeds together; 2.6 % if one configuration scatters ten times as much as the other.
struct HourClaim : JudgedClaim {
  std::string arm = {}, reference = {};  // names of the configurations; empty if it cannot be tested here
};

// Returns the claims of a plan, judged. `arms`: results by arm, one run per seed, with the seeds in the same order;
// claims about missing arms are not tested. `first_look`: number of seeds that every arm has.
std::vector<HourClaim> hour_claims(HourPlan plan, const std::map<std::string, Summary>& arms, size_t first_look);

// Returns how many seeds of an arm the claims ask for: one more than it has if a claim about it is undecided.
size_t seeds_wanted(const std::vector<HourClaim>& claims, const std::string& arm, size_t first_look);

struct HourReport {
  std::string title;          // "ImageNet in 1 hour, in small: LeNet with batch norm on fashion-mnist, 12 epochs"
  std::string command;        // command that repeats the study
  std::vector<HourArm> arms;  // arms of the plan; searched ones have the chosen values
  std::vector<std::string> searches;       // one line per search (choice_text)
  std::map<std::string, Summary> results;  // results by name of the arm; untrained arms are missing
  std::vector<HourClaim> claims;
};

std::string hour_table(const HourReport& report);  // table of the trainings, at most 80 columns wide
std::string hour_claims_text(const HourReport& report);
std::string hour_intervals_text(
    const HourReport& report);  // tells how often intervals of claims hold; "" if there are none
std::string hour_searches_text(const HourReport& report);
// Returns an HTML page that needs no other file; its links to the run folders are relative. `curves`: an SVG.
std::string hour_page(const HourReport& report, const std::string& curves);
std::string hour_json(const HourReport& report);

// Returns what a person may run after a study of this plan; empty after the full one.
std::string hour_next(HourPlan plan);

}  // namespace kb
