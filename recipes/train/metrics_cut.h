// Cuts the metrics.jsonl of a run that is resumed from a checkpoint. Lines that were written after the checkpoint are
// removed, so that the file gets the same lines as that of an uninterrupted run, except for times. Nothing is lost,
// since the removed lines are appended to metrics.cut.jsonl in the same folder.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kb {

inline constexpr const char* kCutMetrics = "metrics.cut.jsonl";

struct MetricsCut {
  int64_t dropped = 0;           // number of lines that were removed
  std::vector<int64_t> damaged;  // numbers, from 1, of kept lines that cannot be read or are out of order
  int64_t last_step = -1;        // number of the last step that is kept; -1 if there is none
  std::string past;              // text of the kept lines, without the damaged ones
};

// Keeps the lines of steps before `step` and the lines among them. Removes later steps and all that follows them, a
// last line without a line end, and lines of the kinds "end", "stop" and "test". Unless `is_due` is true, also removes
// an evaluation after the last kept step, which an interrupted run may have made. A missing file counts as empty.
MetricsCut cut_metrics(const std::filesystem::path& path, int64_t step, bool is_due);

// Returns the number of steps of a run whose last line has the kind "end"; nothing if it has another kind.
std::optional<int64_t> ended_after(const std::filesystem::path& path);

}  // namespace kb
