// Fuzzes the readers of metrics.jsonl. The file is cut as for a run that is resumed: at a step, which the first byte
// gives, with or without the evaluation after that step (bit 0 of the second byte). Then its curves and a table are
// made, and its layers' norms are drawn if it has those of two layers.
#include "recipes/report/curves.h"
#include "recipes/run/metrics_views.h"
#include "recipes/train/layer_log.h"
#include "recipes/train/metrics_cut.h"
#include "recipes/train/past_lines.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::metrics_target {

KB_FUZZ_TARGET(metrics) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "metrics.jsonl";
  Steering steering(data, size);
  const int64_t step = steering.byte();
  const bool is_due = steering.byte() & 1;
  write_file_atomically(file, steering.rest());
  ended_after(file);
  const MetricsCut cut = cut_metrics(file, step, is_due);
  for_each_flat_json(cut.past, [](const FlatJson& line) {
    if (is_step(line)) require(means_of(line, {{"error"}}).size() == 1, "a step has its metrics");
    if (is_evaluation(line)) require(evaluation_of(line, {{"error"}}).goal() != nullptr, "so has an evaluation");
  });
  const std::string once = read_file(file);
  cut_metrics(file, step, is_due);
  require(read_file(file).size() <= once.size(), "a file that was cut does not grow");
  require(curves_picture("run", read_curves(once)).size() < 300'000, "a picture stays small");
  require(metrics_csv(once).starts_with("kind,"), "a table has titles");
  const LoggedLayer layers[] = {{"a", true}, {"b", false}};
  const std::vector<LayerNorms> norms = read_layer_norms(file, std::size(layers));
  if (!norms.empty()) require(!layer_picture("norms", layers, norms).empty(), "norms are drawn");
}

}  // namespace kb::fuzz::metrics_target
