// Steps of a schedule in words, for tables and pictures: what a launch computes, for which layer, in which phase.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule.h"

namespace kb {

// The phases of a training step. `prepare` computes values that depend on the parameters alone, once a step. All steps
// of a program for inference are `forward`.
enum class Phase : uint8_t { prepare, forward, backward, update };
std::string_view name(Phase phase);

struct StepDescription {
  std::string what;   // "conv 3x3 + bias + relu", "gradient of conv 3x3, weights"
  std::string scope;  // "layer1.0.conv1"; empty where the model names none
  Phase phase = Phase::forward;

  // Returns what and scope: "conv 3x3 + bias + relu  layer1.0.conv1".
  std::string text() const { return scope.empty() ? what : what + "  " + scope; }
  // Returns at most `columns` letters of text(): words that do not fit end in "...", the last parts of the scope stay.
  std::string text(size_t columns) const;
};

// Returns a description of every step, from the ops, scopes and called functions of its nodes.
std::vector<StepDescription> describe_steps(const Schedule& schedule);

}  // namespace kb
