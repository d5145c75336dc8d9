// How a schedule's all-reduces overlap with its compute, on a virtual clock: compute takes the steps in order, the
// all-reduces go one after the other, and a wait holds compute until its own has ended.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/schedule.h"

namespace kb {

// Times are in seconds from the start of the schedule.
struct ReductionTimes {
  int32_t reduction = -1;  // Step::reduction
  size_t step = 0;         // that starts it
  int64_t bytes = 0;
  double ready = 0;    // compute gives it away
  double start = 0;    // its first message goes: those before it have ended
  double end = 0;      // its sum is there
  double exposed = 0;  // compute waits for it, and for nothing else
};

struct Overlap {
  std::vector<ReductionTimes> reductions;  // in the order of their starts
  double step = 0;                         // the whole schedule
  double compute = 0;                      // of it, that compute works
  double communication = 0;                // sum over reductions
  double exposed = 0;                      // sum over reductions; step = compute + exposed
  // Communication behind which compute worked.
  double hidden() const { return communication - exposed; }
};

// Seconds of an all-reduce of so many bytes, alone on the network.
using ReductionSeconds = std::function<double(int64_t bytes)>;

// `seconds`: of each step of the schedule; those of waits are not looked at.
//
// `bucket_bytes`: neighbouring ranges of one flat vector travel together until they have so many, once the last of them
// is ready: the step that Workers::bucket_bytes would give, from the schedule of one compiled with smaller buckets.
Overlap predict_overlap(const Schedule& schedule, std::span<const double> seconds, const ReductionSeconds& reduction,
                        int64_t bucket_bytes = 0);

}  // namespace kb
