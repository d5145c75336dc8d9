// The study `hour`: trains the arms of a plan under several seeds and reports.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/hour/hour_plan.h"

namespace kb {

struct HourRequest {
  std::string dataset = "glyphs-hour";
  std::string data;                  // folder of the data set; empty: $KB_DATA
  std::vector<int64_t> seeds = {1};  // seeds of every arm; with three or more, claims may ask for further ones
  int64_t jobs = 0, epochs = 12;
  HourPlan plan = HourPlan::brief;
  std::string out;      // folder of the study; empty: one below runs/
  std::string command;  // command that the report shows
};

// Runs the study. Returns an exit code: 128 + N if signal N stopped it, 1 if a training failed, else 0, because a claim
// that does not hold is a result. Leaves hour.html, curves.svg, summary.json and a run folder for each training.
int run_hour(const HourRequest& request);

}  // namespace kb
