// Reads from a run's folder after how many epochs the run reached a goal.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recipes/config/target_figure.h"
#include "recipes/trials/run_reader.h"

namespace kb {

struct EpochsToGoal : RunReport {
  std::vector<std::pair<std::string, std::string>> flags;  // flags of the manifest, in its order
  std::optional<double> epochs = {};  // epochs done at the first evaluation that reached the goal; empty if none did

  double samples_per_epoch() const { return static_cast<double>(steps_per_epoch * minibatch); }
};

// An evaluation reaches the goal by a better figure (better: --target, Shallue et al. 2019, TargetFigure), or by the
// same figure, too (equal: MLPerf's rules, which ask for 75.9 % or more).
enum class GoalBy : uint8_t { better, equal };

// Reads manifest.json and metrics.jsonl of a run folder. Throws Error, which names the file, if the manifest is missing
// or damaged.
EpochsToGoal epochs_to_goal(const std::filesystem::path& run, const TargetFigure& goal, GoalBy by = GoalBy::better);

// Throws Error unless all runs are of one recipe, one minibatch, one part and one metric.
void check_comparable(std::span<const EpochsToGoal> runs);

// Returns what a reader of a mean over the runs has to know: the flags in which they differ, but for those of seeds,
// and runs that are one training, since all of their flags are equal.
std::vector<std::string> pooled_notes(std::span<const EpochsToGoal> runs);

}  // namespace kb
