// A study from its trials to the reports of their runs: what --seeds and hour have in common.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "recipes/run/console.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/study_process.h"
#include "recipes/trials/trial.h"

namespace kb {

struct StudyRequest {
  std::string name;                  // begins the name of its folder
  std::string out;                   // its folder; empty: one below runs/
  std::vector<Trial> trials;         // that are to be done
  TrialResources resources;          // of them
  std::vector<std::string> program;  // starts a trial (trial_program)
  std::string go_on;                 // command that goes on with the study where it is stopped
};

struct StudyRuns {
  std::filesystem::path folder;
  std::vector<std::string> names;         // of all its trials, those of earlier calls included
  std::map<std::string, RunReport> runs;  // of the trials that are done, by their names
  std::set<std::string> failed;           // trials of this call
};

// Says what it does on the console, runs the trials that are not done, and reads the runs of all. Returns nothing where
// a signal stopped it (Interrupt::number). Throws what open_study() and run_trials() throw.
std::optional<StudyRuns> run_study(const StudyRequest& request, Console& console);

}  // namespace kb
