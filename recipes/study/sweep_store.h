// The folder of a sweep, which any number of processes share: sweep.json, how each minibatch was opened, a run folder a
// trial, claims. What the run folders say is the truth; nothing else has to be right for a sweep to go on.
#pragma once
#include <filesystem>
#include <set>
#include <string>

#include "recipes/study/sweep_plan.h"

namespace kb {

inline constexpr const char* kSweepFile = "sweep.json";

// Makes `folder` with the sweep in it; where it holds one already it must be the same, and may grow (grown_definition).
// Throws Error where it is another, and where the folder holds anything that is no sweep. Returns the sweep.
SweepDefinition open_sweep(const std::filesystem::path& folder, const SweepDefinition& asked);

// Throws Error where the folder holds no sweep.
SweepDefinition read_sweep(const std::filesystem::path& folder);

// Reads what a trial's run folder says; of a trial that was not begun nothing.
TrialStanding read_standing(const std::filesystem::path& run);

// Returns "runs/sweep-RECIPE-TIME", a folder that is not there yet, or the newest such folder of the same sweep that is
// not done.
std::filesystem::path default_sweep_folder(const SweepDefinition& asked);

// A sweep as one process sees it.
class SweepView {
 public:
  // Throws as read_sweep() does.
  explicit SweepView(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const SweepDefinition& definition() const { return definition_; }
  const SweepPlan& plan() const { return plan_; }

  // Reads the run folders of trials that were not done before, and plans anew. With `opens` minibatches whose turn has
  // come are opened, for all processes.
  void refresh(bool opens = false);
  // A trial that failed in this process counts as done in its plan.
  void add_failed(const std::string& name) { failed_.insert(name); }
  bool has_failed() const { return !failed_.empty(); }

 private:
  void read_standings();
  void read_openings();

  const std::filesystem::path folder_;
  const SweepDefinition definition_;
  Standings standings_;
  Openings openings_;
  std::set<std::string> failed_;
  SweepPlan plan_;
};

}  // namespace kb
