// The gradient noise scale of the runs of a sweep at a target, to stand beside the critical minibatch, which it
// predicts (McCandlish et al. 2018, arXiv 1812.06162).
#pragma once
#include <cstddef>
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

}  // namespace kb
