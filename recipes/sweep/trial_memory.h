// How much memory a trial takes, before any is trained: of the machine, and of a GPU.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/trial.h"

namespace kb {

// Bytes of each process of a trial.
struct TrialMemory {
  int64_t process = 0;   // of the machine's memory
  int64_t on_gpu = 0;    // of the GPU's, without what CUDA and its libraries take; 0 on the CPU
  int64_t gpu_size = 0;  // that the GPU has; 0 on the CPU

  bool operator==(const TrialMemory&) const = default;
};

// Returns what the trial takes with one thread, as a dry run of it in an empty `folder` says; nothing where it was
// asked to stop. `program`: starts a trial. Throws Error where the trial cannot be planned.
std::optional<TrialMemory> trial_memory(const std::vector<std::string>& program, const Trial& trial,
                                        const std::filesystem::path& folder,
                                        const std::function<bool()>& wants_to_stop);

// Returns how many trials of so many processes each nine tenths of the memory hold, of the machine's `machine_bytes`
// and of the GPU's: at least one.
int trials_in_memory(const TrialMemory& trial, int64_t processes, int64_t machine_bytes);

}  // namespace kb
