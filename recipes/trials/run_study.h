// Runs a study, from its list of trials to the reports of their runs. --seeds and the command hour both use it.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "recipes/run/console.h"
#include "recipes/trials/executor.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/study_process.h"
#include "recipes/trials/trial.h"

namespace kb {

// Returns what became of the training in the folder `run`: "valid error 3.70 %, 12 s", "diverged after 40 steps".
std::string outcome_text(const std::filesystem::path& run, const TrialOutcome& outcome);

struct StudyRequest {
  std::string name;                  // start of the name of the study's folder
  std::string out;                   // folder of the study; empty: one in runs/
  std::vector<Trial> trials;         // trials that are to be done
  TrialResources resources;          // part of the machine that each trial has
  std::vector<std::string> program;  // command that starts a trial (trial_program)
  std::string go_on;                 // words that tell how to go on with a study that was stopped
};

struct StudyRuns {
  std::filesystem::path folder;
  std::vector<std::string> names;         // names of all trials, including those of earlier calls
  std::map<std::string, RunReport> runs;  // reports of the trials that are done, by trial name
  std::set<std::string> failed;           // names of the trials that failed in this call
};

// Runs the trials that are not done, prints its progress on the console, and reads the runs of all trials. Returns
// nothing if a signal stopped it (Interrupt::number). Throws what open_study() and run_trials() throw.
std::optional<StudyRuns> run_study(const StudyRequest& request, Console& console);

}  // namespace kb
