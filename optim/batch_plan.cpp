#include "optim/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/error.h"

namespace kb {
namespace {

std::string plural(int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Returns the nearest multiples of `unit` that are not 0, as "384 or 512".
std::string nearest_multiples(int64_t value, int64_t unit) {
  const int64_t below = value / unit * unit;
  return below < unit ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

// Returns the largest divisor of `value` that is at most `near` and the smallest that is at least `near`. If near is
// larger than value, the second is value.
std::pair<int64_t, int64_t> enclosing_divisors(int64_t value, int64_t near) {
  int64_t below = 1, above = value;
  for (int64_t d = 1; d <= value / d; ++d) {
    if (value % d != 0) continue;
    for (const int64_t divisor : {d, value / d}) {
      if (divisor <= near) below = std::max(below, divisor);
      if (divisor >= near) above = std::min(above, divisor);
    }
  }
  return {below, above};
}

// Returns the divisors of `value` around `near`, each between `before` and `after`: "24 or 32", "sync(2) or sync(4)".
std::string nearest_divisors(int64_t value, int64_t near, const char* before = "", const char* after = "") {
  const auto [below, above] = enclosing_divisors(value, near);
  const std::string one = fmt::format("{}{}{}", before, below, after);
  return above == below ? one : fmt::format("{} or {}{}{}", one, before, above, after);
}

[[noreturn]] void refuse(int64_t global, int64_t per_worker, int64_t processes) {
  if (per_worker == 0)
    throw Error(fmt::format("--minibatch: expected samples for {} processes alike, got {}\n  hint:     --minibatch {}",
                            processes, global, nearest_multiples(global, processes)));
  std::string hint = fmt::format("--minibatch {}", nearest_multiples(global, processes * per_worker));
  if (global > 0 && global % processes == 0)
    hint += fmt::format(", or --per-worker {}", nearest_divisors(global / processes, per_worker));
  throw Error(fmt::format(
      "--minibatch, --per-worker: expected a minibatch that is a multiple of {} = {} x {}, got {}\n  hint:     {}",
      processes * per_worker, plural(processes, "process", "processes"),
      plural(per_worker, "sample of a worker", "samples of a worker"), global, hint));
}

[[noreturn]] void refuse_ghost(const BatchPlan& plan) {
  throw Error(fmt::format(
      "--batch-norm: expected ghost(M), M a divisor of the {} samples of a worker, got {}\n  hint:     {}",
      plan.per_worker, to_string(plan.norm), nearest_divisors(plan.per_worker, plan.norm.size, "ghost(", ")")));
}

// Returns the greatest number of processes, fewer than there are, that divides the workers into groups of
// plan.norm.size; 0 when there is none.
int64_t fewer_processes(const BatchPlan& plan) {
  if (plan.processes == 1 || plan.norm.size < 1 || plan.workers() % plan.norm.size != 0) return 0;
  return enclosing_divisors(plan.workers() / plan.norm.size, plan.processes - 1).first;
}

[[noreturn]] void refuse_sync(const BatchPlan& plan) {
  std::string text =
      fmt::format("--batch-norm: expected sync(K), K a divisor of the {} of a process, got {}",
                  plural(plan.virtual_workers, "virtual worker", "virtual workers"), to_string(plan.norm));
  if (plan.processes > 1) text += ": statistics are never of several processes, none waits for another in its forward";
  std::string hint = nearest_divisors(plan.virtual_workers, plan.norm.size, "sync(", ")");
  if (plan.virtual_workers == 1) hint = "worker, or a smaller --per-worker";
  if (const int64_t fewer = fewer_processes(plan); fewer > 0)
    hint += fmt::format(", or {}", plural(fewer, "process", "processes"));
  throw Error(fmt::format("{}\n  hint:     {}", text, hint));
}

void cut_workers(BatchPlan& plan) {
  if (plan.norm.size < 1 || plan.per_worker % plan.norm.size != 0) refuse_ghost(plan);
  plan.virtual_workers *= plan.per_worker / plan.norm.size;
  plan.per_worker = plan.norm.size;
}

void join_workers(BatchPlan& plan) {
  if (plan.norm.size < 1 || plan.virtual_workers % plan.norm.size != 0) refuse_sync(plan);
  plan.virtual_workers /= plan.norm.size;
  plan.per_worker *= plan.norm.size;
}

}  // namespace

std::string to_string(const NormGroup& group) {
  if (group.kind == NormGroup::Kind::worker) return "worker";
  return fmt::format("{}({})", group.kind == NormGroup::Kind::ghost ? "ghost" : "sync", group.size);
}

std::string BatchPlan::derivation() const {
  std::string text = fmt::format("kn {} = {} x {} x {}", global, plural(processes, "process", "processes"),
                                 plural(virtual_workers, "virtual worker", "virtual workers"), per_worker);
  if (per_worker < asked)
    text += fmt::format(" (batch norm {}: workers of {} cut in {})", to_string(norm), asked, asked / per_worker);
  if (per_worker > asked)
    text += fmt::format(" (batch norm {}: {} workers of {} as one)", to_string(norm), per_worker / asked, asked);
  return text;
}

BatchPlan make_batch_plan(int64_t global, int64_t per_worker, int64_t processes, NormGroup norm) {
  const int64_t unit = processes * std::max<int64_t>(per_worker, 1);
  if (global % unit != 0 || global < 1) refuse(global, per_worker, processes);
  const int64_t n = per_worker > 0 ? per_worker : global / processes;
  BatchPlan plan{global, processes, global / (processes * n), n, norm, n};
  if (norm.kind == NormGroup::Kind::ghost) cut_workers(plan);
  if (norm.kind == NormGroup::Kind::sync) join_workers(plan);
  return plan;
}

}  // namespace kb
