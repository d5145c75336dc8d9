// All that an order of gradients follows from: the policy by which workers start and their gradients are applied, the
// time that a gradient takes, the seed, and the number of pieces of minibatches in the run.
#pragma once
#include <cstdint>
#include <optional>

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
inline constexpr auto kOrderKinds = choices<OrderKind>({"async", "stale", "backup"});

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

// dropped: the gradient ended too late to count. abandoned: its worker was stopped before it ended.
enum class GradientFate : uint8_t { applied, dropped, abandoned };
inline constexpr auto kGradientFates = choices<GradientFate>({"applied", "dropped", "abandoned"});

// One gradient of an order, and its fate.
struct GradientRecord {
  int64_t number = 0;  // in the order in which fates are decided, from 0
  int64_t worker = 0;
  int64_t count = 0;  // among the gradients of its worker, from 0
  int64_t read = 0;   // version of the parameters that it is computed at; the initial ones are version 0
  // Version of the parameters that it is applied to, if it is. The update makes version `applied_to` + 1.
  std::optional<int64_t> applied_to = std::nullopt;
  GradientFate fate = GradientFate::applied;
  int64_t begin_ns = 0, end_ns = 0;  // times of the virtual clock at which the worker began and ended to compute it
  // Piece of the minibatches that it is computed of: n = kn / k samples. The first minibatch of the run in its order of
  // samples has the pieces 0 to k - 1, the next one k to 2 k - 1.
  int64_t piece = 0;

  // Returns the number of updates between reading the parameters and applying the gradient, which must be applied.
  int64_t staleness() const { return applied_to.value() - read; }
  bool operator==(const GradientRecord&) const = default;
};

}  // namespace kb
