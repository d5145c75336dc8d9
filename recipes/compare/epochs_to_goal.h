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

// Reads manifest.json and metrics.jsonl of a run folder. `percent`: the greatest figure of its evaluations, in per
// cent, that reaches the goal. Throws Error with the file where one is missing or damaged.
EpochsToGoal epochs_to_goal(const std::filesystem::path& run, double percent);

// Throws Error unless all runs are of one recipe, one minibatch, one part and one metric.
void check_comparable(std::span<const EpochsToGoal> runs);

}  // namespace kb
