#include "runtime/profile.h"

#include <algorithm>

#include "graph/error.h"

namespace kb {

namespace {

ReductionTimes& reduction_of(std::vector<ReductionTimes>& times, int32_t reduction) {
  const auto at =
      std::find_if(times.begin(), times.end(), [&](const ReductionTimes& one) { return one.reduction == reduction; });
  ensure(at != times.end(), "a wait stands before what it waits for");
  return *at;
}

}  // namespace

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

std::vector<StepTime> predicted_times(const Schedule& schedule, std::span<const double> seconds,
                                      const ReductionSeconds& reduction) {
  Overlap overlap = predict_overlap(schedule, seconds, reduction);
  std::vector<StepTime> times;
  double now = 0;
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    StepTime time{now, 1e3 * seconds[s]};
    if (step.cls == FusionClass::wait) {
      const ReductionTimes& one = reduction_of(overlap.reductions, step.reduction());
      time = {now, 1e3 * one.exposed, 1e3 * one.start, 1e3 * one.end};
    }
    now += time.milliseconds;
    times.push_back(time);
  }
  return times;
}

Overlap measured_overlap(const Schedule& schedule, std::span<const StepTime> times) {
  ensure(times.size() == schedule.steps.size(), "measured_overlap: one time a step");
  Overlap result;
  if (times.empty()) return result;
  const auto seconds = [&](double milliseconds) { return 1e-3 * (milliseconds - times.front().start); };
  for (size_t s = 0; s < times.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.cls == FusionClass::exchange)
      result.reductions.push_back({step.reduction(), s, step.extents.at(0), seconds(times[s].start)});
    if (step.cls != FusionClass::wait) continue;
    ReductionTimes& one = reduction_of(result.reductions, step.reduction());
    one.start = seconds(times[s].reduction_start);
    one.end = seconds(times[s].reduction_end);
    one.exposed = 1e-3 * times[s].milliseconds;
    result.communication += one.end - one.start;
    result.exposed += one.exposed;
  }
  result.step = seconds(times.back().start + times.back().milliseconds);
  result.compute = result.step - result.exposed;
  return result;
}

}  // namespace kb
