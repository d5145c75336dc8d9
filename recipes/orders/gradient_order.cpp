#include "recipes/orders/gradient_order.h"

#include <algorithm>
#include <functional>

#include "graph/error.h"

namespace kb {

GradientOrder::GradientOrder(OrderPlan plan) : plan_(std::move(plan)), rules_(plan_.policy, plan_.pieces) {
  for (const int64_t worker : rules_.started()) expect_end_of(worker);
}

void GradientOrder::expect_end_of(int64_t number) {
  const OrderWorker& worker = rules_.worker(number);
  const int64_t time = plan_.times.ns(plan_.seed, number, worker.decided);
  if (time > INT64_MAX - worker.begin_ns) throw Error("order of gradients: the virtual clock ends after 292 years");
  ends_.emplace_back(worker.begin_ns + time, number);
  std::push_heap(ends_.begin(), ends_.end(), std::greater());
}

std::optional<GradientRecord> GradientOrder::next() {
  std::optional<int64_t> worker = rules_.late();
  int64_t now = state().now_ns;
  if (worker) {
    ends_.clear();  // all that are under way are to be abandoned
  } else {
    if (ends_.empty()) return std::nullopt;
    std::pop_heap(ends_.begin(), ends_.end(), std::greater());
    now = ends_.back().first;
    worker = ends_.back().second;
    ends_.pop_back();
  }
  const GradientRecord record = rules_.decide(*worker, now);
  for (const int64_t started : rules_.started()) expect_end_of(started);
  return record;
}

}  // namespace kb
