#include "recipes/run/run_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "recipes/run/run_folder.h"
#include "recipes/run/run_texts.h"
#include "recipes/train/metrics_cut.h"
#include "runtime/checkpoint.h"
#include "runtime/input_file.h"

namespace kb {

std::string lines_before(const std::filesystem::path& metrics_file, int64_t step, bool is_due, int64_t begins_at,
                         Console& console) {
  MetricsCut cut = cut_metrics(metrics_file, step, is_due);
  if (cut.dropped > 0)
    console.line(fmt::format("{}: {} line{} past step {}, which is where it goes on, moved to {}", kMetrics,
                             cut.dropped, cut.dropped == 1 ? "" : "s", step, kCutMetrics));
  if (!cut.damaged.empty())
    console.line(fmt::format("NOTE: {}: what cannot be read or is out of order was left as it is and passed over: {}",
                             kMetrics, line_numbers(cut.damaged)));
  const int64_t next = std::max(cut.last_step + 1, begins_at);
  if (next < step) console.line(fmt::format("NOTE: {} lacks the steps {} to {}", kMetrics, next, step - 1));
  return std::move(cut.past);
}

// The function that is returned frees its text, hundreds of bytes per step, at its first call.
PastLines leaders_lines(World& world, std::string own) {
  if (world.size() > 1) own = world.broadcast(world.leads() ? own : "");
  return [text = std::move(own)](const std::function<void(const FlatJson&)>& take) mutable {
    for_each_flat_json(std::exchange(text, {}), take);
  };
}

std::vector<NamedTensor> saved_model(World& world, const std::filesystem::path& checkpoints, int64_t step) {
  std::vector<std::filesystem::path> files = list_checkpoints(checkpoints);
  files.insert(files.begin(), checkpoints / kBestCheckpoint);
  std::vector<NamedTensor> model;
  for (const std::filesystem::path& file : files) {
    if (!is_there(file) || !model.empty()) continue;
    try {
      const Checkpoint checkpoint = read_checkpoint(file);
      if (checkpoint.step == step) model = model_tensors(checkpoint);
    } catch (const Error&) {
      // A file that cannot be read is passed over: the model may be in another one.
    }
  }
  for (const std::string& found : world.communicator().all_gather(model.empty() ? "" : "found"))
    if (found.empty()) model.clear();
  return model;
}

}  // namespace kb
