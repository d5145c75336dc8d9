// The folder of a sweep, which any number of processes share: sweep.json, a file for each opened minibatch, a run
// folder for each trial, and claims. The state of each trial is what its run folder says, and no other record of it has
// to be right.
#pragma once
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "recipes/sweep/sweep_plan.h"

namespace kb {

inline constexpr const char* kSweepFile = "sweep.json";
// File in the folder of a trial that no process can train; it holds the reason.
inline constexpr const char* kRefusalFile = "refused.txt";

// Makes `folder` with the sweep in it. If the folder holds a sweep already, that must be the same one, and it may grow
// (grown_definition). Throws Error if it is another one, or if the folder holds anything that is no sweep. Returns the
// sweep in the folder.
SweepDefinition open_sweep(const std::filesystem::path& folder, const SweepDefinition& asked);

// Returns the sweep in the folder. Throws Error if it holds none.
SweepDefinition read_sweep(const std::filesystem::path& folder);

// Returns what the run folder of a trial of the sweep says; an empty standing for a trial that has not begun.
TrialStanding read_standing(const std::filesystem::path& run, const SweepDefinition& definition);

// Returns the newest folder of the same sweep that is not done or, if there is none, "runs/sweep-RECIPE-TIME", which
// does not exist yet. `say`: prints a line for each folder whose sweep another build began, so that this one does not
// go on with it.
std::filesystem::path default_sweep_folder(const SweepDefinition& asked,
                                           const std::function<void(const std::string&)>& say);

// Returns why no process can train a trial, by the values that it has; "" if nothing speaks against it.
using Refusal = std::function<std::string(const SweepDefinition&, const PlannedTrial&)>;

// A sweep as one process sees it.
class SweepView {
 public:
  // Throws as read_sweep() does. `refusal`: asked once for each trial; a view without it refuses no trial, and may only
  // refresh().
  explicit SweepView(std::filesystem::path folder, Refusal refusal = {});

  const std::filesystem::path& folder() const { return folder_; }
  const SweepDefinition& definition() const { return definition_; }
  const SweepPlan& plan() const { return plan_; }

  // Reads the run folders of trials that were not final before, and plans anew.
  void refresh();
  // Refreshes, opens minibatches whose turn has come, and refuses trials, for all processes. Afterwards some trial
  // waits, unless the sweep is done or a trial failed here.
  void advance();
  // Marks a trial that failed in this process, which does not begin it again.
  void add_failed(const std::string& name) { failed_.insert(name); }

 private:
  void read_standings();
  void read_openings();
  bool open_new();
  bool refuse_waiting();

  const std::filesystem::path folder_;
  const SweepDefinition definition_;
  const Refusal refusal_;
  Standings standings_;
  Openings openings_;
  std::set<std::string> failed_, asked_;
  SweepPlan plan_;
};

// Returns the folders of trials that hold the run of another trial or sweep, with what differs: "runs/s/kn64-p01 is
// left out: expected a run of minibatch 64, got one of minibatch 512".
std::vector<std::string> foreign_runs(const SweepView& view);

}  // namespace kb
