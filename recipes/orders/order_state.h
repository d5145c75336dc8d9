// A place in an order of gradients: all that has to be kept between two records to go on with the same ones. Its size
// grows with the number of workers alone.
#pragma once
#include <cstdint>
#include <string>
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
  bool operator==(const OrderWorker&) const = default;
};

struct OrderState {
  int64_t decided = 0;                 // gradients with a decided fate; the next record has this number
  int64_t version = 0;                 // updates done: the version of the newest parameters
  int64_t drawn = 0;                   // pieces that were drawn; the next new piece has this number
  int64_t now_ns = 0;                  // time of the last decision
  std::vector<int64_t> returned = {};  // pieces of gradients that did not count, rising; the next to start take them
  std::vector<OrderWorker> workers = {};

  bool operator==(const OrderState&) const = default;
};

// Throws Error, which says what is wrong, if no order of the policy with so many pieces comes to this place.
void check_state(const OrderState& state, const OrderPolicy& policy, int64_t pieces);

// Returns one line of JSON.
std::string state_text(const OrderState& state);
// Reads such a line; `what` names it in errors. Throws Error if it is damaged.
OrderState parse_state(const std::string& text, const std::string& what);

}  // namespace kb
