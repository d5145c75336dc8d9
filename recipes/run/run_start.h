// State in which a run's loop goes on, as the folder of the run tells up to the checkpoint.
#pragma once
#include <filesystem>

#include "recipes/run/console.h"
#include "recipes/train/parts.h"

namespace kb {

// Cuts the metrics file of a run to the steps before `step` (recipes/train/metrics_cut.h), tells the console what that
// took away, and returns the lines that are kept. `is_due`: an evaluation of the state at `step` is. `begins_at`: steps
// that were done when the run began.
std::string lines_before(const std::filesystem::path& metrics_file, int64_t step, bool is_due, int64_t begins_at,
                         Console& console);

// Collective call. Returns the leading process's lines, in every process.
PastLines leaders_lines(World& world, std::string own);

// Collective call. Returns the model that a checkpoint of the run has after `step` steps; empty where it is in none of
// them, or is not found by every process.
std::vector<NamedTensor> saved_model(World& world, const std::filesystem::path& checkpoints, int64_t step);

}  // namespace kb
