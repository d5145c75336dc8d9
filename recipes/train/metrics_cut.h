// metrics.jsonl of a run that goes on from a checkpoint: what was written past it goes, so that the file reads as one
// run, line for line what an uninterrupted one writes (times apart). Nothing is lost: what goes is appended to
// metrics.cut.jsonl beside it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kb {

inline constexpr const char* kCutMetrics = "metrics.cut.jsonl";

struct MetricsCut {
  int64_t dropped = 0;           // lines
  std::vector<int64_t> damaged;  // numbers, from 1, of kept lines that cannot be read or stand out of order
  int64_t last_step = -1;        // that is kept
  std::string past;              // the kept lines, without those that are damaged
};

// Keeps the lines of steps before `step` and all between them; drops later steps and what follows them, a torn last
// line, ends, stops and tests, and, unless it `is_due`, an evaluation after the last step (Ctrl-C makes one). A file
// that is not there counts as empty.
MetricsCut cut_metrics(const std::filesystem::path& path, int64_t step, bool is_due);

// Steps of the run whose last line says that it ended; nothing of one that has not.
std::optional<int64_t> ended_after(const std::filesystem::path& path);

}  // namespace kb
