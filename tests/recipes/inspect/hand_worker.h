// Workers whose steps are made by hand, so that forecasts have closed forms.
#pragma once
#include "recipes/inspect/scaling.h"
#include "tests/support/hand_step.h"

namespace kb::test {

constexpr int64_t kHandBytes = 100'000'000;

// A step computes for 0.1 s and then for 0.2 s. If it `reduces`, 100 MB are summed over the workers after the first
// part: during the second part if it also `hides` them, else before it.
struct HandWorker {
  Schedule schedule;
  ScaleWorker worker;

  explicit HandWorker(bool reduces, bool hides = false) {
    add(FusionClass::pointwise, 0.1);
    if (reduces) add(FusionClass::exchange, 0);
    if (hides) add(FusionClass::pointwise, 0.2);
    if (reduces) add(FusionClass::wait, 0);
    if (!hides) add(FusionClass::pointwise, 0.2);
    worker.schedule = &schedule;
    worker.samples = 32;
    worker.parameter_bytes = kHandBytes;
  }
  HandWorker(const HandWorker&) = delete;

  void add(FusionClass cls, double seconds) {
    Step step = hand_step(cls, 0);
    step.operands = {{0, 0}};
    step.extents = {kHandBytes};
    schedule.steps.push_back(step);
    worker.steps[1].final.push_back(seconds);
  }

  std::vector<ScaleRow> rows(Algorithm algorithm, const Cluster& cluster) const {
    return scale_line(worker, algorithm, cluster, 1024).rows;
  }
};

}  // namespace kb::test
