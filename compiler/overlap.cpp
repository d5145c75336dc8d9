#include "compiler/overlap.h"

#include <algorithm>

#include "graph/error.h"

namespace kb {

Overlap predict_overlap(const Schedule& schedule, std::span<const double> seconds, const ReductionSeconds& reduction) {
  ensure(seconds.size() == schedule.steps.size(), "predict_overlap: one time a step");
  Overlap result;
  double now = 0, lane_free = 0;
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.cls == FusionClass::wait) {
      const auto at = std::find_if(result.reductions.begin(), result.reductions.end(),
                                   [&](const ReductionTimes& one) { return one.reduction == step.reduction; });
      ensure(at != result.reductions.end(), "predict_overlap: a wait stands before what it waits for");
      at->exposed = std::max(0.0, at->end - now);
      result.exposed += at->exposed;
      now += at->exposed;
      continue;
    }
    now += seconds[s];
    result.compute += seconds[s];
    if (step.cls != FusionClass::exchange) continue;
    ReductionTimes one{step.reduction, s, step.extents.at(0), now, std::max(now, lane_free)};
    one.end = lane_free = one.start + reduction(one.bytes);
    result.communication += one.end - one.start;
    result.reductions.push_back(one);
  }
  result.step = now;
  return result;
}

}  // namespace kb
