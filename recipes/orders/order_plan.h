// All that an order of gradients follows from: the policy by which workers start and their gradients are applied, the
// time that a gradient takes, the seed, and the number of pieces of minibatches in the run.
#pragma once
#include <cstdint>

#include "recipes/config/synchronising.h"
#include "recipes/config/values.h"
#include "recipes/orders/gradient_times.h"

namespace kb {

// async: each gradient is applied as soon as it ends, and its worker starts again with the newest parameters
// (asynchronous SGD; Chen et al. 2016, "Revisiting Distributed Synchronous SGD", arXiv 1604.00981, section 2).
// stale: as async, but a worker with c gradients done waits while another has fewer than c - s done (stale synchronous
// parallel; Ho et al. 2013, "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server").
// backup: k + b workers compute gradients of the same parameters; the first k that end make one update (Chen et al.
// 2016, section 3).
enum class OrderKind : uint8_t { async, stale, backup };
inline constexpr Choice<OrderKind> kOrderKinds[] = {
    {"async", OrderKind::async}, {"stale", OrderKind::stale}, {"backup", OrderKind::backup}};

inline constexpr int64_t kMostOrderWorkers = int64_t{1} << 20;

struct OrderPolicy {
  OrderKind kind = OrderKind::async;
  int64_t workers = 1;                          // k, the number of pieces of a minibatch
  int64_t bound = 0;                            // stale: s, the number of gradients that a worker may be ahead
  int64_t backups = 0;                          // backup: b, the number of workers beyond k
  LateGradients late = LateGradients::abandon;  // backup

  int64_t all_workers() const { return workers + backups; }
  int64_t gradients_per_update() const { return kind == OrderKind::backup ? workers : 1; }
  bool operator==(const OrderPolicy&) const = default;
};

struct OrderPlan {
  OrderPolicy policy = {};
  GradientTimes times = {};
  uint64_t seed = 0;  // below 2^63
  // Number of pieces in the run, each of which is applied once; 0: no end. The samples of a step are k pieces.
  int64_t pieces = 0;

  bool operator==(const OrderPlan&) const = default;
};

// Throws Error if a number is out of range or does not belong to the kind of the policy, or if the pieces do not fill
// the updates of `backup`.
void check_order(const OrderPolicy& policy, int64_t pieces);

}  // namespace kb
