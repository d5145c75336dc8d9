#include "recipes/compare/epochs_to_goal.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "recipes/trials/run_reader.h"

namespace kb {
namespace {

std::string text(const EpochsToGoal& run) {
  return fmt::format("{}, kn {}, {} {}", run.recipe, run.minibatch, run.part, run.goal);
}

}  // namespace

EpochsToGoal epochs_to_goal(const std::filesystem::path& run, double percent, GoalBy by) {
  const RunReport report = read_run(run);
  EpochsToGoal found{run, report.recipe, report.minibatch, report.part, report.goal, 0, std::nullopt};
  found.samples_per_epoch = static_cast<double>(report.steps_per_epoch * report.minibatch);
  for (const EvaluationPoint& point : report.evaluations) {
    const double goal = percent / 100;
    if (!(point.goal < goal || (by == GoalBy::equal && point.goal == goal))) continue;
    found.epochs = point.epoch;
    break;
  }
  return found;
}

void check_comparable(std::span<const EpochsToGoal> runs) {
  for (const EpochsToGoal& other : runs)
    if (text(other) != text(runs.front()))
      throw Error(
          fmt::format("expected runs of one recipe, one minibatch and one part of the data, got\n  {}: {}\n  {}: {}",
                      runs.front().run.string(), text(runs.front()), other.run.string(), text(other)));
}

}  // namespace kb
