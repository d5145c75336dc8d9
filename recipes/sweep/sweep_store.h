// The folder of a sweep, which any number of processes share: sweep.json, how each minibatch was opened, a run folder a
// trial, claims. What the run folders say is the truth; nothing else has to be right for a sweep to go on.
#pragma once
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "recipes/sweep/sweep_plan.h"

namespace kb {

inline constexpr const char* kSweepFile = "sweep.json";
// In the folder of a trial that no process can train: the reason.
inline constexpr const char* kRefusalFile = "refused.txt";

// Makes `folder` with the sweep in it; where it holds one already it must be the same, and may grow (grown_definition).
// Throws Error where it is another, and where the folder holds anything that is no sweep. Returns the sweep.
SweepDefinition open_sweep(const std::filesystem::path& folder, const SweepDefinition& asked);

// Throws Error where the folder holds no sweep.
SweepDefinition read_sweep(const std::filesystem::path& folder);

// Reads what the run folder of a trial of the sweep says; of a trial that was not begun nothing.
TrialStanding read_standing(const std::filesystem::path& run, const SweepDefinition& definition);

// Returns "runs/sweep-RECIPE-TIME", a folder that is not there yet, or the newest such folder of the same sweep that is
// not done. `say`: takes a line of each that another build began, which this one does not go on with.
std::filesystem::path default_sweep_folder(const SweepDefinition& asked,
                                           const std::function<void(const std::string&)>& say);

// Says why no process can train a trial, by the values that it has; empty where nothing speaks against it.
using Refusal = std::function<std::string(const SweepDefinition&, const PlannedTrial&)>;

// A sweep as one process sees it.
class SweepView {
 public:
  // Throws as read_sweep() does. `refusal`: asked once for each trial; without it the view refuses none, and may look
  // alone.
  explicit SweepView(std::filesystem::path folder, Refusal refusal = {});

  const std::filesystem::path& folder() const { return folder_; }
  const SweepDefinition& definition() const { return definition_; }
  const SweepPlan& plan() const { return plan_; }

  // Reads the run folders of trials that were not done before, and plans anew.
  void refresh();
  // Likewise; opens minibatches whose turn has come, and refuses trials, for all processes. Once it is done no trial
  // waits, unless one failed here.
  void advance();
  // A trial that failed in this process is not begun by it again.
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

}  // namespace kb
