#include "recipes/orders/order_plan.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace kb {
namespace {

void check_order_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    throw Error(fmt::format("order of gradients: {}\n  expected: a whole number in [{}, {}]\n  got:      {}", name,
                            least, most, value));
}

}  // namespace

void check_order(const OrderPolicy& policy, int64_t pieces) {
  check_order_range("workers", policy.workers, 1, kMostOrderWorkers);
  check_order_range("bound", policy.bound, 0, policy.kind == OrderKind::stale ? kWholeBelow - 1 : 0);
  check_order_range("backups", policy.backups, 0, policy.kind == OrderKind::backup ? kMostOrderWorkers : 0);
  check_order_range("pieces", pieces, 0, INT64_MAX);
  if (pieces % policy.gradients_per_update() != 0)
    throw Error(
        fmt::format("order of gradients: pieces\n  expected: a multiple of the {} gradients of an update\n"
                    "  got:      {}",
                    policy.gradients_per_update(), pieces));
}

}  // namespace kb
