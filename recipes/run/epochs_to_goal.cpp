#include "recipes/run/epochs_to_goal.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "graph/error.h"
#include "recipes/report/curves.h"
#include "recipes/run/run_folder.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {

EpochsToGoal epochs_to_goal(const std::filesystem::path& run, double percent) {
  const std::filesystem::path file = run / kManifest;
  const JsonValue manifest = parse_json(read_file(file), file.string());
  EpochsToGoal found;
  found.run = run;
  found.recipe = manifest.get<std::string>("recipe");
  found.minibatch = manifest.at("flags").get<int64_t>("minibatch");
  found.samples_per_epoch = manifest.get<double>("steps_per_epoch") * static_cast<double>(found.minibatch);
  for (const CurvePoint& point : read_curves(read_file(run / kMetrics)).test_goal) {
    if (point.value > percent / 100) continue;
    found.epochs = point.epoch;
    break;
  }
  return found;
}

SampleStatistics sample_statistics(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

void check_comparable(std::span<const EpochsToGoal> runs) {
  for (const EpochsToGoal& other : runs)
    if (other.recipe != runs.front().recipe || other.minibatch != runs.front().minibatch)
      throw Error(
          fmt::format("expected runs of one recipe and one minibatch, got\n  {}: {}, kn {}\n  {}: {}, "
                      "kn {}",
                      runs.front().run.string(), runs.front().recipe, runs.front().minibatch, other.run.string(),
                      other.recipe, other.minibatch));
}

}  // namespace kb
