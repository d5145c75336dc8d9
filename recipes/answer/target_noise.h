// Noise of a sweep's runs at a target: how precisely a held-out part of the data knows the target's figure, and what
// that means in steps; and the gradient noise scale, to stand beside the critical minibatch, which it predicts
// (McCandlish et al. 2018, arXiv 1812.06162).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "recipes/trials/run_reader.h"

namespace kb {

// B_simple, in samples, of several runs; infinity where an estimate has no upper bound.
struct GradientNoise {
  double median = 0, least = 0, greatest = 0;
  size_t runs = 0;
};

// Returns the noise scales that runs told with the evaluation that reached their target; nothing if none did. One below
// 0 counts as infinite: tr(Sigma) is never below 0, so that its |G|^2 was lost in noise.
std::optional<GradientNoise> gradient_noise(std::span<const RunReport> runs);

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
