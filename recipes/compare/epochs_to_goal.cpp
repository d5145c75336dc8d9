#include "recipes/compare/epochs_to_goal.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "recipes/trials/run_reader.h"

namespace kb {

EpochsToGoal epochs_to_goal(const std::filesystem::path& run, double percent) {
  const RunReport report = read_run(run);
  EpochsToGoal found{run, report.recipe, report.minibatch, 0, std::nullopt};
  found.samples_per_epoch = static_cast<double>(report.steps_per_epoch * report.minibatch);
  for (const EvaluationPoint& point : report.evaluations) {
    if (!(point.goal <= percent / 100)) continue;
    found.epochs = point.epoch;
    break;
  }
  return found;
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
