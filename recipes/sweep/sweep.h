// Runs one process of a sweep, which takes trials of a store until the sweep is done.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

// The work of one process of a sweep.
struct SweepWork {
  std::filesystem::path store;       // folder of the sweep
  std::vector<std::string> program;  // command that starts a trial (trial_program)
  std::string go_on;                 // command that goes on with the sweep if it is stopped
  int64_t jobs = 0;                  // number of trials at once; 0: as many as train faster side by side
  std::optional<std::chrono::duration<double>> budget = {};  // longest wall time of this call
  std::chrono::milliseconds lease{60'000};                   // time without a renewal after which a trial is lost
  bool quiet = false;
};

// Runs the trials of the store that no other process runs, until all trials are done, also those of other processes.
// Prints the results and writes them to index.sqlite. If a signal or the budget stops it, its trials make checkpoints
// first. A trial that fails here is left to other processes; after three failures in a row this process takes no more.
// Returns an exit code: 128 + the signal's number if one stopped it, 1 if trials that failed here are not done, else 0.
// Throws Error if the store holds no sweep.
int run_sweep(const Recipe& recipe, const SweepWork& work);

}  // namespace kb
