// Chooses the part of the machine that each trial of a sweep gets, and how many trials train at once.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/study_process.h"

namespace kb {

// Program, wishes and callbacks of a process that trains trials of a sweep.
struct SweepMachine {
  std::vector<std::string> program;             // command that starts a trial (trial_program)
  int64_t jobs = 0;                             // number of trials at once; 0: as many as train faster side by side
  std::function<bool()> wants_to_stop;          // returns true once the process is asked to stop
  std::function<void(const std::string&)> say;  // prints a line about what was measured
};

// Returns true if trials of this process run on a GPU and several of them may train at once.
bool may_share_gpu(const Recipe& recipe, const SweepView& view, int64_t jobs);

// Returns how many trials train at once, and the threads of each. The number is `machine.jobs`, or else found from the
// memory and, except on a CPU with --threads, by a measurement. Returns nothing if it was asked to stop. Requires a
// waiting trial. Throws Error if the first one does not train.
std::optional<TrialResources> choose_resources(const Recipe& recipe, const SweepView& view,
                                               const SweepMachine& machine);

}  // namespace kb
