#include "recipes/answer/gradient_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kb {

std::optional<GradientNoise> gradient_noise(std::span<const RunReport> runs) {
  std::vector<double> scales;
  for (const RunReport& run : runs)
    for (const EvaluationPoint& point : run.evaluations)
      if (run.target_step == point.step && std::isfinite(point.noise_scale))
        scales.push_back(point.noise_scale < 0 ? std::numeric_limits<double>::infinity() : point.noise_scale);
  if (scales.empty()) return std::nullopt;
  std::sort(scales.begin(), scales.end());
  const size_t middle = scales.size() / 2;
  const double median = scales.size() % 2 == 1 ? scales[middle] : (scales[middle - 1] + scales[middle]) / 2;
  return GradientNoise{median, scales.front(), scales.back(), scales.size()};
}

}  // namespace kb
