// How well a held-out part of so many samples knows the target's figure, and what that is in steps.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "recipes/trials/target_crossing.h"

namespace kb {

struct TargetNoise {
  TargetFigure target;
  int64_t samples = 0;   // size of the part
  double deviation = 0;  // standard deviation of the figure at the target: sqrt(p (1 - p) / samples)
  double shift = 0;  // change of log S for one deviation, by how fast the runs' figures fell; it moves every S alike
};

// Returns nothing of a figure that is no share of the samples, and of runs that do not tell how fast it fell. The runs
// have reached the target.
std::optional<TargetNoise> target_noise(const TargetFigure& target, int64_t samples, std::span<const RunReport> runs);

}  // namespace kb
