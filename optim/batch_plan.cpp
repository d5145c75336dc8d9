#include "optim/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace kb {
namespace {

std::string plural(int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// The nearest multiples of `unit` that are not 0: "384 or 512".
std::string nearest_multiples(int64_t value, int64_t unit) {
  const int64_t below = value / unit * unit, above = below + unit;
  return below == 0 ? fmt::format("{}", above) : fmt::format("{} or {}", below, above);
}

// The divisors of `value` around `near`: "24 or 32".
std::string nearest_divisors(int64_t value, int64_t near) {
  int64_t below = std::min(near, value), above = std::max<int64_t>(near, 1);
  while (below > 1 && value % below != 0) --below;
  while (above < value && value % above != 0) ++above;
  return above > value || above == below ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
}

[[noreturn]] void refuse(int64_t global, int64_t per_worker, int64_t processes) {
  if (per_worker == 0)
    throw Error(fmt::format("--minibatch: expected samples for {} processes alike, got {}\n  hint:     --minibatch {}",
                            processes, global, nearest_multiples(global, processes)));
  std::string hint = fmt::format("--minibatch {}", nearest_multiples(global, processes * per_worker));
  if (global % processes == 0)
    hint += fmt::format(", or --per-worker {}", nearest_divisors(global / processes, per_worker));
  throw Error(fmt::format(
      "--minibatch, --per-worker: expected a multiple of {} processes x {} samples of a worker = {}, got {}\n"
      "  hint:     {}",
      processes, per_worker, processes * per_worker, global, hint));
}

}  // namespace

std::string BatchPlan::derivation() const {
  return fmt::format("kn {} = {} x {} x {}", global, plural(processes, "process", "processes"),
                     plural(virtual_workers, "virtual worker", "virtual workers"), per_worker);
}

BatchPlan make_batch_plan(int64_t global, int64_t per_worker, int64_t processes) {
  const int64_t unit = processes * std::max<int64_t>(per_worker, 1);
  if (global % unit != 0 || global == 0) refuse(global, per_worker, processes);
  const int64_t n = per_worker > 0 ? per_worker : global / processes;
  return {global, processes, global / (processes * n), n};
}

}  // namespace kb
