// How the workers of a step are kept alike (--policy).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "recipes/config/period.h"
#include "recipes/config/values.h"
#include "runtime/comm/algorithm.h"

namespace kb {

// sync: workers sum their gradients in every step. local: they belong to replicas of the model, which take steps of
// their own and are joined after some of them. async, stale, backup: each worker has parameters of its own, which it
// reads before a gradient; an order (recipes/orders/order_plan.h) says which gradients are applied when.
enum class Policy : uint8_t { sync, local, async, stale, backup };
inline constexpr auto kPolicies = choices<Policy>({"sync", "local", "async", "stale", "backup"});

// The slots of a replica's optimizer after replicas are joined: as they were, their mean over the replicas, or zero.
enum class LocalSlots : uint8_t { keep, mean, zero };
inline constexpr auto kLocalSlots = choices<LocalSlots>({"keep", "mean", "zero"});

// Tells what becomes of gradients that are under way when the k-th of an update ends. abandon: they stop at that
// moment. finish: they go on to their end, are dropped there, and their workers start with the parameters that are the
// newest then, as with TensorFlow's SyncReplicasOptimizer.
enum class LateGradients : uint8_t { abandon, finish };
inline constexpr auto kLateGradients = choices<LateGradients>({"abandon", "finish"});

// The learning rate of a gradient that is applied alone, as a factor of the step's rate over the k gradients of a step.
// plain: 1. inverse: 1 over the gradient's staleness, if that is above 1 (Zhang et al. 2015, "Staleness-aware
// async-SGD for distributed deep learning", arXiv 1511.05950, eq. 6).
enum class StaleRate : uint8_t { plain, inverse };
inline constexpr auto kStaleRates = choices<StaleRate>({"plain", "inverse"});

// The side that keeps the velocity of momentum where gradients are applied one by one: the server, which has one for
// all gradients, or each worker, which has one for its own and sends it in place of the gradient.
enum class MomentumAt : uint8_t { server, worker };
inline constexpr auto kMomentumAt = choices<MomentumAt>({"server", "worker"});

struct Synchronising {
  Policy policy = Policy::sync;
  int64_t replicas = 1;             // each has an equal share of the workers; 0: one a worker
  int64_t every = 1;                // steps from one join to the next
  std::optional<Period> from = {};  // steps before are synchronous; nothing: none
  // The rule that updates the joined parameters, whose gradient is the mean over replicas of the joined parameters less
  // the replica's own. With sgd and a rate of 1 the result is the mean of the replicas.
  std::string outer = "sgd";
  double outer_lr = 1, outer_momentum = 0.9;
  bool outer_per_rate =
      false;  // divide that gradient by the learning rate of the replicas, and multiply outer_lr by it
  LocalSlots slots = LocalSlots::keep;
  int64_t bound = 0;    // stale: gradients that a worker may be ahead of another
  int64_t backups = 1;  // backup: workers beyond those whose gradients count
  LateGradients late = LateGradients::abandon;
  StaleRate stale_rate = StaleRate::plain;
  MomentumAt momentum_at = MomentumAt::server;
  std::string times = "exponential";  // time of a gradient, as parse_times() reads it (recipes/orders/gradient_times.h)
  // Network between the server and its workers on the virtual clock, which a gradient crosses with two messages;
  // nothing: messages take no time.
  std::optional<Network> net = {};
  std::string order = {};  // file of an order that is computed again; empty: `times` makes one

  bool is_ordered() const { return policy != Policy::sync && policy != Policy::local; }
};

}  // namespace kb
