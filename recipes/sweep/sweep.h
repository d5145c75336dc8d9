// A sweep, or a worker of one: takes trials of a store until the sweep is done.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

struct SweepWork {
  std::filesystem::path store;
  std::vector<std::string> program;                          // starts a trial (trial_program)
  std::string go_on;                                         // command that goes on with the sweep where it is stopped
  int64_t jobs = 0;                                          // trials at once; 0: as many as train faster side by side
  std::optional<std::chrono::duration<double>> budget = {};  // wall time of this call
  std::chrono::milliseconds lease{60'000};                   // after which a process that is not heard of loses a trial
  bool quiet = false;
};

// Runs the trials of the store that no other process runs, until all are done, those of other processes too; prints
// what they gave, and leaves it as index.sqlite. Stopped by a signal or by the budget, it lets its trials make
// checkpoints. A trial that fails here is left to other processes; after three in a row this one takes no more. Returns
// an exit code: 128 + the signal's number where one stopped it, 1 where trials that failed here are not done, else 0.
// Throws Error where the store holds no sweep.
int run_sweep(const Recipe& recipe, const SweepWork& work);

}  // namespace kb
