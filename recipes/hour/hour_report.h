// Report of `hour`: the table of its trainings beside the papers', the claims, and one HTML page of both.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "recipes/hour/hour_claims.h"

namespace kb {

struct HourReport {
  std::string title;                       // "ImageNet in 1 hour, in small: LeNet on fashion-mnist, 3 seeds"
  std::string command;                     // that repeats it
  std::vector<HourArm> arms;               // those that were searched at the values that were chosen
  std::vector<std::string> searches;       // a line a search (choice_text)
  std::map<std::string, Summary> results;  // by the arms' names; those that are not trained are missing
  std::vector<HourClaim> claims;
};

std::string hour_table(const HourReport& report);  // for a terminal
std::string hour_claims_text(const HourReport& report);
std::string hour_searches_text(const HourReport& report);
// Self-contained; links to the run folders are relative. `curves`: an SVG.
std::string hour_page(const HourReport& report, const std::string& curves);
std::string hour_json(const HourReport& report);

// Returns what a person may run after a study of this plan; empty after the full one.
std::string hour_next(HourPlan plan);

}  // namespace kb
