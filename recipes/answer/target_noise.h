// Finds how precisely a held-out part of the data knows the target's figure, and what that means in steps.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "recipes/trials/target_crossing.h"

namespace kb {

// The noise of a figure that a finite number of samples judges.
struct TargetNoise {
  TargetFigure target;
  int64_t samples = 0;   // number of samples of the part
  double deviation = 0;  // standard deviation of the figure at the target: sqrt(p (1 - p) / samples)
  double shift = 0;      // change of log S for one deviation, by how fast the runs' figures fell; equal for all S
};

// Returns the noise of the target on a part of `samples` samples. `runs` have reached the target. Returns nothing if
// the figure is no share of the samples, or if the runs do not tell how fast it fell.
std::optional<TargetNoise> target_noise(const TargetFigure& target, int64_t samples, std::span<const RunReport> runs);

}  // namespace kb
