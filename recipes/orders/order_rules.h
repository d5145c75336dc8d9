// The rules of a policy without a clock: told whose gradient ends next, they say what becomes of it, which workers
// start then, with which version of the parameters and with which piece of the minibatches. A virtual clock
// (GradientOrder), a file (OrderReader) or messages of real workers tell who ends.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "recipes/orders/order_plan.h"

namespace kb {

// A worker, and its gradient under way or, if it waits, the one before.
struct OrderWorker {
  bool computes = false;
  int64_t decided = 0;   // number of its gradients with a decided fate; the one under way has this number
  int64_t read = -1;     // version of the parameters at which the gradient is computed; -1: none has begun
  int64_t piece = -1;    // piece of the minibatches that it is computed of
  int64_t begin_ns = 0;  // time at which it began
};

// A place in an order: all that has to be kept between two records to go on with the same ones. Its size grows with
// the number of workers alone.
struct OrderState {
  int64_t decided = 0;                 // gradients with a decided fate; the next record has this number
  int64_t version = 0;                 // updates done: the version of the newest parameters
  int64_t drawn = 0;                   // pieces that were drawn; the next new piece has this number
  int64_t now_ns = 0;                  // time of the last decision
  std::vector<int64_t> returned = {};  // pieces of gradients that did not count, rising; the next to start take them
  std::vector<OrderWorker> workers = {};
};

class OrderRules {
 public:
  // Starts every worker for which there is a piece at time 0, worker 0 first. `pieces`: number of pieces in the run; 0:
  // no end. Throws Error as check_order() does.
  explicit OrderRules(const OrderPolicy& policy, int64_t pieces = 0);
  // Goes on at a place, a state() of the same policy and pieces; nobody starts there.
  OrderRules(const OrderPolicy& policy, int64_t pieces, OrderState state);

  // Ends the gradient of a worker that computes, at a time not before the last one, and starts those that may start.
  // While late() is a worker, it must be that one.
  GradientRecord decide(int64_t worker, int64_t now_ns);

  // Returns the worker whose gradient is to be abandoned now, before another one ends, if there is one.
  std::optional<int64_t> late() const;
  // Returns the workers that the constructor or the last decide() started, in the order in which they took their
  // pieces.
  const std::vector<int64_t>& started() const { return started_; }

  const OrderPolicy& policy() const { return policy_; }
  const OrderState& state() const { return state_; }
  const OrderWorker& worker(int64_t number) const { return state_.workers.at(static_cast<size_t>(number)); }

 private:
  void count_state();
  void count_slowest();
  GradientFate fate_of(const OrderWorker& worker) const;
  bool apply(const GradientRecord& record);
  bool give_back(const GradientRecord& record);
  bool may_start(const OrderWorker& worker) const;
  void start(int64_t number);
  void start_all();

  OrderPolicy policy_;
  int64_t pieces_;
  OrderState state_;
  std::vector<int64_t> started_;
  // These follow from the state: gradients of an update that is not complete; gradients to be abandoned; the fewest
  // decided gradients of a worker, and how many workers have no more (`stale` alone).
  int64_t arrived_ = 0, late_ = 0, slowest_ = 0, at_slowest_ = 0;
};

}  // namespace kb
