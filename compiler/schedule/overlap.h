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
  size_t step = 0;         // number of the step that starts it
  int64_t bytes = 0;
  double ready = 0;    // compute has written all of its data
  double start = 0;    // its first message is sent, because all earlier all-reduces have ended
  double end = 0;      // its sum is complete
  double exposed = 0;  // a duration: so long compute waits for it, and for nothing else
};

struct Overlap {
  std::vector<ReductionTimes> reductions;  // in the order of their starts
  double step = 0;                         // duration of the whole schedule
  double compute = 0;                      // the part of it in which compute works
  double communication = 0;                // sum over reductions of end - start
  double exposed = 0;                      // sum over reductions; step = compute + exposed
  // Returns the seconds of communication during which compute works too.
  double hidden() const { return communication - exposed; }
};

// A function that returns the seconds which an all-reduce of `bytes` bytes takes when it is alone on the network.
using ReductionSeconds = std::function<double(int64_t bytes)>;

// `seconds` holds the duration of each step of the schedule; the entries of waits are ignored.
//
// `bucket_bytes`: neighbouring ranges of one flat vector are joined until they have so many bytes, and travel together
// once the last of them is ready. This predicts the step that Workers::bucket_bytes would give, from the schedule of a
// program that was compiled with smaller buckets.
Overlap predict_overlap(const Schedule& schedule, std::span<const double> seconds, const ReductionSeconds& reduction,
                        int64_t bucket_bytes = 0);

}  // namespace kb
