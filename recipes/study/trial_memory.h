// How much of the machine's memory a trial takes, before any is trained.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/study/trial.h"

namespace kb {

// Returns the bytes that each process of the trial takes with one thread, as a dry run of it in an empty `folder` says;
// nothing where it was asked to stop. `program`: starts a trial. Throws Error where the trial cannot be planned.
std::optional<int64_t> trial_memory(const std::vector<std::string>& program, const Trial& trial,
                                    const std::filesystem::path& folder, const std::function<bool()>& wants_to_stop);

// Returns how many trials of so many bytes nine tenths of the memory hold: at least one.
int trials_in_memory(int64_t trial_bytes, int64_t memory_bytes);

}  // namespace kb
