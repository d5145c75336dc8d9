// The report of `hour`: a table of its trainings beside the papers' figures, the claims, and an HTML page with both.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/hour/hour_claims.h"

namespace kb {

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
