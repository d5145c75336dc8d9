// metrics.jsonl of a run that goes on from a checkpoint: what was written past it goes, so that the file reads as one
// run, line for line what an uninterrupted one writes (times apart).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "recipes/evaluate.h"

namespace kb {

struct MetricsCut {
  int64_t dropped = 0;  // lines
  int64_t last_step = -1;
  std::optional<Evaluation> evaluation;  // of the checkpoint's own parameters
  double loss_sum = 0;                   // since the last evaluation
  int64_t losses = 0;
};

// Keeps the lines of steps before `step` and the evaluations between them; drops a torn last line, ends and stops, and,
// unless it `is_due`, an evaluation behind the last step (Ctrl-C makes one). A file that is not there counts as empty.
MetricsCut cut_metrics(const std::filesystem::path& path, int64_t step, bool is_due);

// Steps of the run whose last line says that it ended; nothing of one that has not.
std::optional<int64_t> ended_after(const std::filesystem::path& path);

}  // namespace kb
