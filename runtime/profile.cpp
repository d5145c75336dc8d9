#include "runtime/profile.h"

#include <algorithm>

#include "graph/error.h"

namespace kb {

void Profile::append(std::span<const StepTime> program) {
  const double begin = end();
  for (StepTime time : program) {
    for (double* at : {&time.start, &time.reduction_start, &time.reduction_end}) *at += begin;
    steps.push_back(time);
  }
}

double Profile::end() const {
  if (!steps.empty()) return steps.back().start + steps.back().milliseconds;
  return copies.empty() ? 0 : copies.back().start + copies.back().milliseconds;
}

Overlap measured_overlap(const Schedule& schedule, std::span<const StepTime> times) {
  ensure(times.size() == schedule.steps.size(), "measured_overlap: one time a step");
  Overlap result;
  if (times.empty()) return result;
  const auto seconds = [&](double milliseconds) { return 1e-3 * (milliseconds - times.front().start); };
  for (size_t s = 0; s < times.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.cls == FusionClass::exchange)
      result.reductions.push_back({step.reduction, s, step.extents.at(0), seconds(times[s].start)});
    if (step.cls != FusionClass::wait) continue;
    const auto at = std::find_if(result.reductions.begin(), result.reductions.end(),
                                 [&](const ReductionTimes& one) { return one.reduction == step.reduction; });
    ensure(at != result.reductions.end(), "measured_overlap: a wait stands before what it waits for");
    at->start = seconds(times[s].reduction_start);
    at->end = seconds(times[s].reduction_end);
    at->exposed = 1e-3 * times[s].milliseconds;
    result.communication += at->end - at->start;
    result.exposed += at->exposed;
  }
  result.step = seconds(times.back().start + times.back().milliseconds);
  result.compute = result.step - result.exposed;
  return result;
}

}  // namespace kb
