#include "recipes/answer/target_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/median.h"

namespace kb {

std::optional<TargetNoise> target_noise(const TargetFigure& target, int64_t samples, std::span<const RunReport> runs) {
  TargetNoise noise{target, samples, 0, 0};
  double logs = 0, figures = 0;  // sums over the brackets: logarithms of the steps' growth, falls of the figure
  for (const RunReport& run : runs) {
    const auto kind = run.metric_kinds.find(target.plain_metric());
    if (kind == run.metric_kinds.end() || !kind->second.is_share) return std::nullopt;
    const std::optional<TargetBracket> bracket = target_bracket(run, target);
    if (!bracket) continue;
    logs += std::log(bracket->steps_at / bracket->steps_before);
    figures += std::abs(bracket->figure_before - bracket->figure_at);
  }
  if (figures == 0 || samples < 1) return std::nullopt;
  noise.deviation = std::sqrt(target.value * (1 - target.value) / static_cast<double>(samples));
  noise.shift = noise.deviation * logs / figures;
  return noise;
}

std::optional<GradientNoise> gradient_noise(std::span<const RunReport> runs) {
  std::vector<double> scales;
  for (const RunReport& run : runs)
    for (const EvaluationPoint& point : run.evaluations)
      if (run.target_step == point.step && std::isfinite(point.noise_scale))
        scales.push_back(point.noise_scale < 0 ? std::numeric_limits<double>::infinity() : point.noise_scale);
  if (scales.empty()) return std::nullopt;
  const auto [least, greatest] = std::minmax_element(scales.begin(), scales.end());
  return GradientNoise{median_of(scales), *least, *greatest, scales.size()};
}

}  // namespace kb
