#include "recipes/run/folder_room.h"

#include <fmt/format.h>

#include <limits>

#include "recipes/perf/memory_answer.h"
#include "recipes/run/process_memory.h"

namespace kb {

RunFiles files_to_write(const StateStore& store, int64_t keep, bool goes_on) {
  // Two checkpoints stand beside those that are kept: the best state's, once its step has no other, and the one that is
  // being written.
  return {.checkpoint_bytes = state_bytes(store),
          .checkpoints = goes_on ? 1 : keep + 2,
          .model_bytes = state_bytes(store, false),
          .models = goes_on ? 1 : 2};
}

std::string over_disk_note(const std::filesystem::path& run, int64_t free, const RunFiles& files) {
  if (files.total() <= free) return "";
  return fmt::format(
      "NOTE: the disk of {} has {} free, and the run's files take up to {} more ({} of {} for checkpoints, {} of {} "
      "for "
      "model.safetensors): a full disk ends the run",
      run.string(), bytes_text(free), bytes_text(files.total()), files.checkpoints, bytes_text(files.checkpoint_bytes),
      files.models, bytes_text(files.model_bytes));
}

int64_t free_bytes(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  constexpr auto kMost = static_cast<uintmax_t>(std::numeric_limits<int64_t>::max());
  return error || space.available > kMost ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(space.available);
}

}  // namespace kb
