// What part of the machine each trial of a sweep has, and how many train at once.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/study_process.h"

namespace kb {

// What a process that trains trials of a sweep brings.
struct SweepMachine {
  std::vector<std::string> program;  // starts a trial (trial_program)
  int64_t jobs = 0;                  // trials at once; 0: as many as train faster side by side
  std::function<bool()> wants_to_stop;
  std::function<void(const std::string&)> say;  // gets what was measured, a line each
};

// True where trials of this process lie on a GPU and several of them may train at once.
bool may_share_gpu(const Recipe& recipe, const SweepView& view, int64_t jobs);

// Returns how many trials train at once, and the threads of each: by the memory and a measurement where neither --jobs
// nor --threads says so; nothing where it was asked to stop. Some trial waits. Throws Error where its first one does
// not train.
std::optional<TrialResources> choose_resources(const Recipe& recipe, const SweepView& view,
                                               const SweepMachine& machine);

}  // namespace kb
