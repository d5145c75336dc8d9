#include "recipes/answer/contradictions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optim/distributions.h"

namespace kb {

std::vector<Contradiction> contradictions(const PooledSteps& measured, const ScalingFit& fit,
                                          std::span<const LeastSteps> missed) {
  constexpr double kTail = 0.025;
  std::vector<double> minibatches;
  for (const LeastSteps& one : missed) minibatches.push_back(static_cast<double>(one.minibatch));
  if (minibatches.empty()) return {};
  const std::vector<ConfidenceInterval> band = steps_band(measured.means, minibatches);
  const auto of_run = [&](double minibatch) {
    if (!measured.scatter) return 0.0;
    const auto [deviation, degrees] = measured.scatter->at(minibatch);
    return student_t(kTail, degrees) * deviation;
  };
  std::vector<Contradiction> found;
  for (size_t i = 0; i < missed.size(); ++i) {
    const double fitted = fit.steps_at(minibatches[i]);
    const double above = std::hypot(std::log(band[i].high / fitted), of_run(minibatches[i]));
    if (missed[i].steps > fitted * std::exp(above)) found.push_back({missed[i], fitted});
  }
  return found;
}

void withhold_beyond(const MeanSteps& last, ScalingFit& fit) {
  const auto minibatch = static_cast<double>(last.minibatch);
  bool is_beyond = false;
  for (Estimate* place : {&fit.b_crit, &fit.perfect_end, &fit.gain_end}) {
    ConfidenceInterval& interval = place->interval;
    if (interval.high <= minibatch) continue;
    interval = {std::min(interval.low, minibatch), std::numeric_limits<double>::infinity()};
    is_beyond = true;
  }
  if (!is_beyond) return;
  const double steps = last.interval ? last.interval->high : last.steps;
  fit.s_min.interval.high = std::max(fit.s_min.interval.high, steps);
}

}  // namespace kb
