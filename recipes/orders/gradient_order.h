// Makes an order of gradients by a virtual clock: a simulation of discrete events, of which the next is always the end
// of the gradient under way that ends first (of several at one time that of the least worker). It gives one record at a
// time, and its memory grows with the number of workers alone.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "recipes/orders/order_rules.h"

namespace kb {

class GradientOrder {
 public:
  // Begins the order of a plan. Throws Error as check_order() does.
  explicit GradientOrder(OrderPlan plan);

  // Returns the next record; nothing when every piece of the run is applied. Throws Error when the virtual clock
  // reaches 2^63 ns, which is 292 years.
  std::optional<GradientRecord> next();

  // Returns what the order has come to: workers, their versions and pieces, and which of them the last record started.
  const OrderRules& rules() const { return rules_; }
  const OrderState& state() const { return rules_.state(); }
  const OrderPlan& plan() const { return plan_; }

 private:
  void expect_end_of(int64_t worker);

  OrderPlan plan_;
  OrderRules rules_;
  // A heap of the ends of gradients under way, the least (time, worker) first.
  std::vector<std::pair<int64_t, int64_t>> ends_;
};

}  // namespace kb
