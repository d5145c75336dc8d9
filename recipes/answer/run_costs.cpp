#include "recipes/answer/run_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "recipes/run/run_folder.h"
#include "runtime/comm/halving_doubling.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

// Returns how many gradients ended too late and were dropped before `applied` gradients had been applied, by the order
// in the run's folder; nothing if that holds fewer.
std::optional<int64_t> dropped_gradients(const RunReport& run, double applied) {
  const std::filesystem::path file = run.folder / kOrder;
  if (!is_there(file)) return std::nullopt;
  int64_t dropped = 0;
  double done = 0;
  for_each_flat_json(read_file(file), [&](const FlatJson& line) {
    if (done >= applied) return;
    done += line.text("fate") == "applied" ? 1 : 0;
    dropped += line.text("fate") == "dropped";
  });
  return done >= std::floor(applied) ? std::optional(dropped) : std::nullopt;
}

// Returns the bytes of a backup run, whose k + b workers are a process each.
std::optional<double> backup_bytes(const RunReport& run, double steps, double bytes) {
  const Synchronising& sync = run.policy.sync;
  const auto workers = static_cast<double>(run.policy.workers(run.minibatch));
  double sent = steps * workers;
  if (sync.late == LateGradients::finish) {
    const std::optional<int64_t> dropped = dropped_gradients(run, sent);
    if (!dropped) return std::nullopt;
    sent += static_cast<double>(*dropped);
  }
  return bytes * sent / (workers + static_cast<double>(sync.backups));
}

int64_t element_bytes(const PolicyFlags& policy) { return policy.reduce_precision == "f32" ? 4 : 2; }

double local_bytes(const RunReport& run, double steps, int64_t element) {
  const Synchronising& sync = run.policy.sync;
  const int64_t workers = run.policy.workers(run.minibatch), replicas = run.policy.replicas(run.minibatch);
  const auto sent = [&](int64_t ranks) { return all_reduce_bytes(run.parameters, element, ranks); };
  const double before =
      sync.from ? std::min(steps, static_cast<double>(sync.from->steps(std::max<int64_t>(1, run.steps_per_epoch)))) : 0;
  const double joins = (steps - before) / static_cast<double>(std::max<int64_t>(1, sync.every));
  return before * sent(workers) + (steps - before) * sent(std::max<int64_t>(1, workers / replicas)) +
         joins * sent(replicas);
}

}  // namespace

std::optional<double> clock_at(const RunReport& run, double steps) {
  const auto at_end_of = [&](double done) {
    if (done == 0) return 0.0;
    const auto place = static_cast<size_t>(done) - 1;
    return place < run.clocks.size() ? run.clocks[place] : std::numeric_limits<double>::quiet_NaN();
  };
  if (!(steps > 0)) return std::nullopt;
  const double low = at_end_of(std::floor(steps)), high = at_end_of(std::ceil(steps));
  const double clock = low + (steps - std::floor(steps)) * (high - low);
  return std::isfinite(clock) ? std::optional(clock) : std::nullopt;
}

double all_reduce_bytes(int64_t elements, int64_t element_bytes, int64_t ranks) {
  const auto bytes = static_cast<double>(elements * element_bytes);
  if (std::has_single_bit(static_cast<uint64_t>(ranks)))
    return 2 * bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  int64_t sent = 0;
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
    std::vector<Move> moves;
    plan_halving_doubling(rank, static_cast<int>(ranks), elements, 1, moves);
    for (const Move& move : moves) sent += move.send.elements();
  }
  return static_cast<double>(sent * element_bytes) / static_cast<double>(ranks);
}

std::optional<double> bytes_sent(const RunReport& run, double steps) {
  if (run.parameters == 0) return std::nullopt;
  const int64_t element = element_bytes(run.policy);
  const double bytes = static_cast<double>(run.parameters * element);
  switch (run.policy.sync.policy) {
    case Policy::sync:
      return steps * all_reduce_bytes(run.parameters, element, run.policy.workers(run.minibatch));
    case Policy::local:
      return local_bytes(run, steps, element);
    case Policy::async:
    case Policy::stale:
      return steps * bytes;
    case Policy::backup:
      return backup_bytes(run, steps, bytes);
  }
  return std::nullopt;
}

}  // namespace kb
