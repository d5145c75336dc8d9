#include "recipes/orders/order_rules.h"

#include <algorithm>

#include "graph/error.h"

namespace kb {
namespace {

OrderState initial_state(const OrderPolicy& policy, int64_t pieces) {
  check_order(policy, pieces);
  OrderState state;
  state.workers.resize(static_cast<size_t>(policy.all_workers()));
  return state;
}

}  // namespace

OrderRules::OrderRules(const OrderPolicy& policy, int64_t pieces)
    : policy_(policy), pieces_(pieces), state_(initial_state(policy, pieces)) {
  count_state();
  start_all();
}

OrderRules::OrderRules(const OrderPolicy& policy, int64_t pieces, OrderState state)
    : policy_(policy), pieces_(pieces), state_(std::move(state)) {
  count_state();
}

void OrderRules::count_state() {
  arrived_ = late_ = 0;
  for (const OrderWorker& worker : state_.workers) {
    const bool is_old = worker.read < state_.version;
    if (worker.computes && is_old && policy_.late == LateGradients::abandon) ++late_;
    if (!worker.computes && !is_old) ++arrived_;
  }
  if (policy_.kind != OrderKind::backup) arrived_ = late_ = 0;
  count_slowest();
}

void OrderRules::count_slowest() {
  if (policy_.kind != OrderKind::stale) return;
  const auto fewer = [](const OrderWorker& a, const OrderWorker& b) { return a.decided < b.decided; };
  slowest_ = std::min_element(state_.workers.begin(), state_.workers.end(), fewer)->decided;
  at_slowest_ = std::count_if(state_.workers.begin(), state_.workers.end(),
                              [&](const OrderWorker& worker) { return worker.decided == slowest_; });
}

std::optional<int64_t> OrderRules::late() const {
  if (late_ == 0) return std::nullopt;
  // No worker starts while one is late, so that all that compute are.
  return std::ranges::find(state_.workers, true, &OrderWorker::computes) - state_.workers.begin();
}

GradientRecord OrderRules::decide(int64_t number, int64_t now_ns) {
  OrderWorker& worker = state_.workers.at(static_cast<size_t>(number));
  ensure(worker.computes && now_ns >= state_.now_ns, "a gradient ends that is not under way, or too early");
  GradientRecord record{.number = state_.decided,
                        .worker = number,
                        .count = worker.decided,
                        .read = worker.read,
                        .fate = fate_of(worker),
                        .begin_ns = worker.begin_ns,
                        .end_ns = now_ns,
                        .piece = worker.piece};
  if (record.fate == GradientFate::applied) record.applied_to = state_.version;
  ensure(late_ == 0 || record.fate == GradientFate::abandoned, "a gradient ends while others are to be abandoned");
  worker.computes = false;
  ++worker.decided;
  ++state_.decided;
  state_.now_ns = now_ns;
  started_.clear();
  const bool all_may = record.applied_to ? apply(record) : give_back(record);
  all_may ? start_all() : start(number);
  return record;
}

GradientFate OrderRules::fate_of(const OrderWorker& worker) const {
  if (policy_.kind != OrderKind::backup || worker.read == state_.version) return GradientFate::applied;
  return policy_.late == LateGradients::abandon ? GradientFate::abandoned : GradientFate::dropped;
}

// Makes the update that a gradient completes. Returns whether workers that waited for it may start now.
bool OrderRules::apply(const GradientRecord& record) {
  switch (policy_.kind) {
    case OrderKind::async:
      ++state_.version;
      return false;
    case OrderKind::stale:
      ++state_.version;
      if (record.count != slowest_ || --at_slowest_ > 0) return false;
      count_slowest();
      return true;
    case OrderKind::backup:
      if (++arrived_ < policy_.workers) return false;
      ++state_.version;
      count_state();
      return late_ == 0;
  }
  throw InternalError("an order of no known kind");
}

// Keeps the piece of a gradient that does not count. Returns whether it was the last one to be abandoned: then all
// workers may start.
bool OrderRules::give_back(const GradientRecord& record) {
  const auto place = std::upper_bound(state_.returned.begin(), state_.returned.end(), record.piece);
  state_.returned.insert(place, record.piece);
  return record.fate == GradientFate::abandoned && --late_ == 0;
}

bool OrderRules::may_start(const OrderWorker& worker) const {
  if (worker.computes || late_ > 0) return false;
  switch (policy_.kind) {
    case OrderKind::async:
      return true;
    case OrderKind::stale:
      return worker.decided <= slowest_ + policy_.bound;
    case OrderKind::backup:
      return worker.read < state_.version;
  }
  throw InternalError("an order of no known kind");
}

// Starts a worker, if it may start and there is a piece for it.
void OrderRules::start(int64_t number) {
  OrderWorker& worker = state_.workers[static_cast<size_t>(number)];
  const bool has_new = pieces_ == 0 || state_.drawn < pieces_;
  if (!may_start(worker) || (state_.returned.empty() && !has_new)) return;
  if (state_.returned.empty()) {
    worker.piece = state_.drawn++;
  } else {
    worker.piece = state_.returned.front();
    state_.returned.erase(state_.returned.begin());
  }
  worker.computes = true;
  worker.read = state_.version;
  worker.begin_ns = state_.now_ns;
  started_.push_back(number);
}

void OrderRules::start_all() {
  for (int64_t number = 0; number < std::ssize(state_.workers); ++number) start(number);
}

}  // namespace kb
