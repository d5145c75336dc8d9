#include "recipes/compare/epochs_to_goal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "recipes/compare/report_runs.h"
#include "recipes/run/run_folder.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

std::string text(const EpochsToGoal& run) {
  return fmt::format("{}, kn {}, {} {}", run.recipe, run.minibatch, run.part, run.goal);
}

// Returns the values of each flag, each once, in the order of the runs.
std::map<std::string, std::vector<std::string>> values_by_flag(std::span<const EpochsToGoal> runs) {
  std::map<std::string, std::vector<std::string>> values;
  for (const EpochsToGoal& run : runs)
    for (const auto& [name, value] : compared_flags(run.flags))
      if (std::ranges::find(values[name], value) == values[name].end()) values[name].push_back(value);
  return values;
}

}  // namespace

EpochsToGoal epochs_to_goal(const std::filesystem::path& run, const TargetFigure& goal, GoalBy by) {
  EpochsToGoal found{read_run(run), flags_of_manifest(read_json(run / kManifest))};
  const bool higher_is_better = kind_of_target(found, goal).value_or(MetricKind{}).higher_is_better;
  for (const EvaluationPoint& point : found.evaluations) {
    const double figure = figure_at(found, point, goal.metric);
    const bool is_equal = figure == goal.value;
    if (!goal.is_reached_by(figure, higher_is_better) && !(by == GoalBy::equal && is_equal)) continue;
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
                      runs.front().folder.string(), text(runs.front()), other.folder.string(), text(other)));
}

std::vector<std::string> pooled_notes(std::span<const EpochsToGoal> runs) {
  std::vector<std::string> notes, differ;
  for (const auto& [name, values] : values_by_flag(runs))
    if (values.size() > 1) differ.push_back(fmt::format("--{} ({})", name, fmt::join(values, ", ")));
  if (!differ.empty())
    notes.push_back(fmt::format("the runs differ in more than seeds, and the mean is over all of them: {}",
                                fmt::join(differ, ", ")));
  for (size_t i = 0; i < runs.size(); ++i)
    for (size_t before = 0; before < i; ++before)
      if (runs[i].flags == runs[before].flags)
        notes.push_back(fmt::format("{} and {} are one training, and count twice: all of their flags are equal",
                                    runs[before].folder.string(), runs[i].folder.string()));
  return notes;
}

}  // namespace kb
