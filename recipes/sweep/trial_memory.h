// Finds how much memory of the machine and of a GPU a trial takes, before any trial trains.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/trial.h"

namespace kb {

// Memory of each process of a trial, in bytes.
struct TrialMemory {
  int64_t process = 0;   // memory of the machine
  int64_t on_gpu = 0;    // memory of the GPU, without what CUDA and its libraries take; 0 on the CPU
  int64_t gpu_size = 0;  // size of the GPU's memory; 0 on the CPU

  bool operator==(const TrialMemory&) const = default;
};

// Returns what the trial takes with one thread, found by a dry run in the empty `folder`; nothing if it was asked to
// stop. `program`: command that starts a trial. Throws Error if the trial cannot be planned.
std::optional<TrialMemory> trial_memory(const std::vector<std::string>& program, const Trial& trial,
                                        const std::filesystem::path& folder,
                                        const std::function<bool()>& wants_to_stop);

// Returns how many trials of `processes` processes each fit into nine tenths of the machine's `machine_bytes` and of
// the GPU's memory; at least one.
int trials_in_memory(const TrialMemory& trial, int64_t processes, int64_t machine_bytes);

}  // namespace kb
