// How long a run took to a goal, from its folder.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kb {

struct EpochsToGoal {
  std::filesystem::path run;
  std::string recipe;
  int64_t minibatch = 0;
  std::string part, goal;        // "valid", "error": of the evaluations in its course, and what they are judged by
  double samples_per_epoch = 0;  // steps of an epoch x minibatch
  std::optional<double> epochs;  // at the first evaluation that reached the goal; nothing: none did
};

// better: as --target counts, Shallue et al. 2019 (TargetFigure). equal: MLPerf's rules, which ask for 75.9 % or more.
enum class GoalBy : uint8_t { better, equal };

// Reads manifest.json and metrics.jsonl of a run folder. `percent`: the goal, an error in per cent, that an evaluation
// has to be below, or at most equal to. Throws Error with the file where one is missing or damaged.
EpochsToGoal epochs_to_goal(const std::filesystem::path& run, double percent, GoalBy by = GoalBy::better);

// Throws Error unless all runs are of one recipe, one minibatch, one part and one metric.
void check_comparable(std::span<const EpochsToGoal> runs);

}  // namespace kb
