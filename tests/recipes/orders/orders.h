// Helpers of the tests of orders of gradients.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recipes/orders/gradient_order.h"

namespace kb::test {

inline OrderPolicy async_policy(int64_t workers) { return {.kind = OrderKind::async, .workers = workers}; }

inline OrderPolicy stale_policy(int64_t workers, int64_t bound) {
  return {.kind = OrderKind::stale, .workers = workers, .bound = bound};
}

inline OrderPolicy backup_policy(int64_t workers, int64_t backups, LateGradients late) {
  return {.kind = OrderKind::backup, .workers = workers, .backups = backups, .late = late};
}

// Returns a plan. `times`: text of --times; "file" stands for one that says 1 s, 1.25 s, 1.5 s and so on.
inline OrderPlan order_plan_of(const OrderPolicy& policy, const std::string& times, int64_t pieces = 0,
                               uint64_t seed = 1) {
  OrderPlan plan{.policy = policy, .times = {}, .seed = seed, .pieces = pieces};
  plan.times = parse_times("--times", times == "file" ? "./times" : times);
  for (int64_t worker = 0; times == "file" && worker < policy.all_workers(); ++worker)
    plan.times.means_s.push_back(1 + 0.25 * static_cast<double>(worker));
  return plan;
}

inline const std::vector<std::string>& every_times() {
  static const std::vector<std::string> all = {"constant", "exponential", "lognormal:0.7", "file"};
  return all;
}

inline std::vector<OrderPolicy> every_policy(int64_t workers) {
  return {async_policy(workers),
          stale_policy(workers, 0),
          stale_policy(workers, 2),
          backup_policy(workers, 0, LateGradients::abandon),
          backup_policy(workers, 2, LateGradients::abandon),
          backup_policy(workers, 2, LateGradients::finish)};
}

inline std::string name_of(const OrderPlan& plan) {
  return word_of(kOrderKinds, plan.policy.kind) + " " + std::to_string(plan.policy.workers) + " " +
         std::to_string(plan.policy.bound) + " " + std::to_string(plan.policy.backups) + " " +
         word_of(kLateGradients, plan.policy.late) + " " + times_text(plan.times);
}

// Returns the next `count` records, or as many as there are.
inline std::vector<GradientRecord> records_of(GradientOrder& order, int64_t count) {
  std::vector<GradientRecord> records;
  while (std::ssize(records) < count) {
    const std::optional<GradientRecord> record = order.next();
    if (!record) break;
    records.push_back(*record);
  }
  return records;
}

inline std::vector<GradientRecord> records_of(const OrderPlan& plan, int64_t count) {
  GradientOrder order(plan);
  return records_of(order, count);
}

}  // namespace kb::test
