// State in which a run's loop begins: at step 0, or as the metrics of its folder tell up to the checkpoint.
#pragma once
#include <filesystem>

#include "recipes/run/console.h"
#include "recipes/train/parts.h"

namespace kb {

// Cuts the metrics file of a run to the steps before `step` (recipes/train/metrics_cut.h), tells the console what that
// took away, and returns the start. `is_due`: an evaluation of the state at `step` is. `epoch_begin`: the first step of
// the epoch under way there. `begins_at`: steps that were done when the run began.
LoopStart start_from_metrics(const std::filesystem::path& metrics_file, const ComputedMetrics& metrics, int64_t step,
                             bool is_due, int64_t epoch_begin, int64_t begins_at, Console& console);

// Collective call. Puts the model of the best state into it, from the checkpoints of the run; leaves it empty where it
// is in none of them, or is not found by every process.
void load_best_model(World& world, const std::filesystem::path& checkpoints, BestState& best);

// Collective call. Returns the leading process's start.
LoopStart leaders_start(World& world, LoopStart own, const ComputedMetrics& metrics);

}  // namespace kb
