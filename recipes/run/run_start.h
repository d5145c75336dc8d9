// Reads from the folder of a run the state, up to the checkpoint, in which its loop goes on.
#pragma once
#include <filesystem>

#include "recipes/run/console.h"
#include "recipes/train/parts.h"

namespace kb {

// Cuts the metrics file of a run to the steps before `step` (recipes/train/metrics_cut.h), prints what that took away,
// and returns the lines that are kept. `is_due`: whether the state at `step` is to be evaluated. `begins_at`: number of
// steps that were done when the run began.
std::string lines_before(const std::filesystem::path& metrics_file, int64_t step, bool is_due, int64_t begins_at,
                         Console& console);

// Collective call. Returns the lines of the leading process in every process.
PastLines leaders_lines(World& world, std::string own);

// Collective call. Returns the model after `step` steps from a checkpoint of the run; empty if no checkpoint has it, or
// if a process does not find it.
std::vector<NamedTensor> saved_model(World& world, const std::filesystem::path& checkpoints, int64_t step);

}  // namespace kb
