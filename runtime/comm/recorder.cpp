#include "runtime/comm/recorder.h"

#include <algorithm>

#include "graph/error.h"

namespace kb {

Recorder::Recorder(std::unique_ptr<Communicator> communicator) : under_(std::move(communicator)) {}

void Recorder::begin() {
  recording_ = true;
  now_ = {};
  tickets_.clear();
  begin_ = Clock::now();
}

void Recorder::end() {
  ensure(recording_, "Recorder::end: no step has begun");
  recording_ = false;
  now_.step = since_begin(Clock::now());
  for (const ReductionTimes& one : now_.reductions) {
    now_.communication += one.end - one.start;
    now_.exposed += one.exposed;
  }
  now_.compute = now_.step - now_.exposed;
  steps_.push_back(now_);
}

int64_t Recorder::all_reduce(std::byte* data, int64_t elements, DType dtype) {
  const Clock::time_point ready = Clock::now();
  const int64_t ticket = under_->all_reduce(data, elements, dtype);
  if (recording_) {
    ReductionTimes one;
    one.reduction = static_cast<int32_t>(now_.reductions.size());
    one.bytes = elements * size_of(dtype);
    one.ready = since_begin(ready);
    now_.reductions.push_back(one);
    tickets_.push_back(ticket);
  }
  return ticket;
}

Interval Recorder::wait(int64_t ticket) {
  const Clock::time_point before = Clock::now();
  const Interval interval = under_->wait(ticket);
  if (!recording_) return interval;
  const auto at = std::find(tickets_.begin(), tickets_.end(), ticket);
  if (at == tickets_.end()) return interval;
  ReductionTimes& one = now_.reductions[static_cast<size_t>(at - tickets_.begin())];
  one.start = since_begin(interval.begin);
  one.end = since_begin(interval.end);
  one.exposed = std::chrono::duration<double>(Clock::now() - before).count();
  return interval;
}

const Overlap& median_step(const std::vector<Overlap>& steps) {
  ensure(!steps.empty(), "median_step: no steps");
  std::vector<const Overlap*> sorted;
  for (const Overlap& step : steps) sorted.push_back(&step);
  std::sort(sorted.begin(), sorted.end(), [](const Overlap* a, const Overlap* b) { return a->step < b->step; });
  return *sorted[sorted.size() / 2];
}

}  // namespace kb
