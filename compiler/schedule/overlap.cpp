#include "compiler/schedule/overlap.h"

#include <algorithm>

#include "graph/error.h"

namespace kb {
namespace {

// All-reduces that travel as one when the last of them is ready; `reduction` is the number of the first.
struct Bucket {
  int32_t reduction = -1;
  std::vector<int32_t> parts;
  size_t last = 0;  // number of the step that starts the last of them
  int64_t bytes = 0;
  bool has(int32_t part) const { return std::find(parts.begin(), parts.end(), part) != parts.end(); }
};

bool continues(const Step& step, const Step& before) {
  const View own = step.operands.at(0), there = before.operands.at(0);
  return own.buffer == there.buffer && own.offset == there.offset + before.extents.at(0);
}

// Returns the buckets in the order of their last parts.
std::vector<Bucket> gather_buckets(const Schedule& schedule, int64_t bucket_bytes) {
  std::vector<size_t> exchanges;
  for (size_t s = 0; s < schedule.steps.size(); ++s)
    if (schedule.steps[s].cls == FusionClass::exchange) exchanges.push_back(s);
  const auto place = [&](size_t s) {
    const View view = schedule.steps[s].operands.at(0);
    return std::pair(view.buffer, view.offset);
  };
  std::sort(exchanges.begin(), exchanges.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  std::vector<Bucket> buckets;
  const Step* before = nullptr;
  for (const size_t s : exchanges) {
    const Step& step = schedule.steps[s];
    const bool joins = before && buckets.back().bytes < bucket_bytes && continues(step, *before);
    if (!joins) buckets.push_back({.reduction = step.reduction(), .parts = {}});
    Bucket& bucket = buckets.back();
    bucket.parts.push_back(step.reduction());
    bucket.last = std::max(bucket.last, s);
    bucket.bytes += step.extents.at(0);
    before = &step;
  }
  std::sort(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) { return a.last < b.last; });
  return buckets;
}

}  // namespace

Overlap predict_overlap(const Schedule& schedule, std::span<const double> seconds, const ReductionSeconds& reduction,
                        int64_t bucket_bytes) {
  ensure(seconds.size() == schedule.steps.size(), "predict_overlap: one time a step");
  const std::vector<Bucket> buckets = gather_buckets(schedule, bucket_bytes);
  Overlap result;
  double now = 0, lane_free = 0;
  for (size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (step.cls == FusionClass::wait) {
      const auto bucket =
          std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& one) { return one.has(step.reduction()); });
      const auto at = static_cast<size_t>(bucket - buckets.begin());  // buckets start in their order
      ensure(at < result.reductions.size(), "predict_overlap: a wait stands before what it waits for");
      const double held = std::max(0.0, result.reductions[at].end - now);
      result.reductions[at].exposed += held;
      result.exposed += held;
      now += held;
      continue;
    }
    now += seconds[s];
    result.compute += seconds[s];
    if (step.cls != FusionClass::exchange) continue;
    const Bucket& bucket = buckets[result.reductions.size()];
    if (bucket.last != s) continue;
    ReductionTimes one{bucket.reduction, s, bucket.bytes, now, std::max(now, lane_free)};
    one.end = lane_free = one.start + reduction(one.bytes);
    result.communication += one.end - one.start;
    result.reductions.push_back(one);
  }
  result.step = now;
  return result;
}

}  // namespace kb
