#include "recipes/inspect/scale_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "graph/error.h"

namespace kb {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::halving_doubling, Algorithm::ring};

ScaleRow row_alone(const ScaleWorker& worker, const Cluster& cluster) {
  const double compute = forecast(worker, 1, Algorithm::ring, cluster).compute;
  return {.minibatch = worker.samples,
          .step = compute,
          .rate = worker.samples / compute,
          .efficiency = 1,
          .compute = compute};
}

// Completes a row whose minibatch, step and exposed seconds are set.
ScaleRow with_rates(ScaleRow row, const ScaleRow& alone) {
  row.rate = row.minibatch / row.step;
  row.efficiency = row.rate / (row.workers * alone.rate);
  return row;
}

// Returns the rows of 1, 2, 4, ... processes, the first one alone, without those that `row_of` has none for.
std::vector<ScaleRow> rows_of(const ScaleWorker& worker, const Cluster& cluster, int most_workers,
                              const std::function<std::optional<ScaleRow>(int)>& row_of) {
  std::vector<ScaleRow> rows = {row_alone(worker, cluster)};
  for (int workers = 2; workers <= most_workers; workers *= 2)
    if (const std::optional<ScaleRow> row = row_of(workers)) rows.push_back(with_rates(*row, rows.front()));
  return rows;
}

// The workers that speak with the server over one network.
struct ServerPort {
  int workers = 0;
  Network network;

  // Returns the gradients that are applied in a second, of n bytes each, for parameters of m bytes.
  double rate(double compute, double n, double m) const {
    if (workers == 0) return 0;
    const double cycle = compute + 2 * network.latency + (n + m) / network.bandwidth;
    return std::min(workers / cycle, network.bandwidth / std::max(n, m));
  }
};

ScaleRow server_row(const ScaleWorker& worker, int processes, const Cluster& cluster) {
  const Overlap step = forecast(worker, processes, Algorithm::ring, cluster);
  double n = 0;
  for (const ReductionTimes& sum : step.reductions) n += static_cast<double>(sum.bytes);
  const double m = worker.parameter_bytes, workers = processes - 1;
  const ServerPort inside{std::min(processes, cluster.per_node) - 1, cluster.inside};
  const ServerPort between{std::max(0, processes - cluster.per_node), cluster.between};
  const double slower = between.rate(step.compute, n, m);
  const double all = inside.rate(step.compute, n, m) + slower;
  ScaleRow row{.workers = processes, .minibatch = workers * worker.samples, .step = workers / all};
  row.compute = step.compute;
  row.communication = row.exposed = row.step - row.compute;
  row.sent = workers * m;
  row.sent_between = row.sent * slower / all;
  return row;
}

double harmonic(int64_t last) {
  double sum = 0;
  for (int64_t i = last; i > 0; --i) sum += 1.0 / static_cast<double>(i);
  return sum;
}

ScaleRow backup_row(const ScaleWorker& worker, int processes, int64_t backups, double factor, Algorithm algorithm,
                    const Cluster& cluster) {
  const Overlap one = forecast(worker, processes, algorithm, cluster);
  ScaleRow row{.workers = processes, .minibatch = static_cast<double>(processes - backups) * worker.samples};
  row.compute = one.compute;
  row.communication = row.exposed = one.communication;
  row.step = one.compute * factor + one.communication;
  add_sent(row, one, algorithm, processes, cluster);
  return row;
}

}  // namespace

ScaleLine local_line(const ScaleWorker& worker, int64_t every, Algorithm algorithm, const Cluster& cluster,
                     int most_workers) {
  const double share = 1.0 / static_cast<double>(every);
  return {algorithm, rows_of(worker, cluster, most_workers, [&](int workers) {
            const int on_node = std::min(workers, cluster.per_node);
            const Overlap inside = forecast(worker, on_node, algorithm, cluster);
            ScaleRow row{.workers = workers, .minibatch = workers * worker.samples};
            double join = 0;
            for (const ReductionTimes& sum : inside.reductions)
              join += share * node_all_reduce_seconds(algorithm, sum.bytes, workers, cluster);
            row.step = inside.step + join;
            row.communication = inside.communication + join;
            row.exposed = inside.exposed + join;
            row.compute = inside.compute;
            add_sent(row, inside, algorithm, on_node, cluster);
            if (workers > on_node) add_sent(row, inside, algorithm, workers, cluster, share);
            return row;
          })};
}

ScaleLine server_line(const ScaleWorker& worker, const Cluster& cluster, int most_workers) {
  return {Algorithm::ring,
          rows_of(worker, cluster, most_workers, [&](int processes) { return server_row(worker, processes, cluster); }),
          "one server"};
}

ScaleLine backup_line(const ScaleWorker& worker, int64_t backups, bool exponential, Algorithm algorithm,
                      const Cluster& cluster, int most_workers) {
  return {algorithm, rows_of(worker, cluster, most_workers, [&](int processes) -> std::optional<ScaleRow> {
            if (processes <= backups) return std::nullopt;
            const double factor = exponential ? harmonic(processes) - harmonic(backups) : 1;
            return backup_row(worker, processes, backups, factor, algorithm, cluster);
          })};
}

PolicyLines policy_lines(const ScaleWorker& worker, const Synchronising& sync, const Cluster& cluster,
                         int most_workers) {
  PolicyLines all;
  if (sync.policy == Policy::async) {
    all.lines.push_back(server_line(worker, cluster, most_workers));
    all.beside.push_back(scale_line(worker, Algorithm::halving_doubling, cluster, most_workers));
    return all;
  }
  const bool exponential = sync.times != kConstantTimes;
  for (const Algorithm algorithm : kAlgorithms) {
    const bool is_local = sync.policy == Policy::local;
    all.lines.push_back(is_local ? local_line(worker, sync.every, algorithm, cluster, most_workers)
                                 : backup_line(worker, sync.backups, exponential, algorithm, cluster, most_workers));
    all.beside.push_back(is_local ? scale_line(worker, algorithm, cluster, most_workers)
                                  : backup_line(worker, 0, exponential, algorithm, cluster, most_workers));
  }
  return all;
}

namespace {

[[noreturn]] void refuse(const std::string& flag, const std::string& expected, const std::string& got,
                         const std::string& hint) {
  throw UsageError(fmt::format("{}: expected {}, got {}\n  hint:     {}", flag, expected, got, hint));
}

void check_local(const Synchronising& sync) {
  if (sync.replicas != 1)
    refuse("--replicas", "none, since the replicas of a forecast are nodes", fmt::to_string(sync.replicas),
           "--node G, the workers of a replica");
  if (sync.from)
    refuse("--from", "none, since a forecast is of the steps with replicas", sync.from->text(),
           "--policy sync forecasts the steps before");
  if (sync.slots == LocalSlots::mean)
    refuse("--local-slots", "keep or zero, whose joins send the parameters alone", "mean", "--local-slots keep");
}

// Checks the times of gradients; their distribution makes no difference to the means of `async`.
void check_times(const Synchronising& sync) {
  if (!sync.order.empty())
    refuse("--order", "none, since a forecast makes no order", sync.order, "--times constant or exponential");
  if (sync.times != kConstantTimes && sync.times != kExponentialTimes)
    refuse("--times", "constant or exponential, whose mean steps have closed forms", sync.times, "--times exponential");
  if (sync.late == LateGradients::finish)
    refuse("--late", "abandon, whose mean step has a closed form", "finish", "--late abandon");
}

std::string table_of(const ScaleLine& line, const ScaleLine& beside, const std::string& flags, bool is_backup) {
  std::string text = fmt::format("{}, {}\n{:>7} {:>9} {:>10} {:>10} {:>10} {:>9} {:>8} {:>8} {:>8}\n", flags,
                                 line.label(), "workers", "kn", "step ms", "samples/s", "efficiency",
                                 is_backup ? "of none" : "of sync", "MB sent", "between", "waiting");
  for (const ScaleRow& row : line.rows) {
    const auto same = std::find_if(beside.rows.begin(), beside.rows.end(),
                                   [&](const ScaleRow& other) { return other.workers == row.workers; });
    ensure(same != beside.rows.end(), "policy_tables: a row that has none beside it");
    text += fmt::format("{:>7} {:>9.0f} {:>10.2f} {:>10.0f} {:>9.1f}% {:>8.1f}% {:>8.4g} {:>8.4g} {:>7.1f}%\n",
                        row.workers, row.minibatch, 1e3 * row.step, row.rate, 100 * row.efficiency,
                        100 * row.rate / same->rate, 1e-6 * row.sent, 1e-6 * row.sent_between, 100 * row.waiting());
  }
  return text;
}

// Returns what a row is, which differs among policies.
std::string columns_text(const Synchronising& sync) {
  if (sync.policy == Policy::local)
    return "step: mean over a round; MB sent: by the first process of a node in such a step,\n"
           "between: to other nodes; of sync: samples/s over those of --policy sync; waiting: share\n"
           "of a step in which computation waits for the network\n";
  if (sync.policy == Policy::async)
    return "step: a gradient of each process but the server; MB sent: by the server in such a step,\n"
           "between: to other nodes; of sync: samples/s over those of --policy sync; waiting: share\n"
           "of the time in which a worker waits for messages and for the server's port\n";
  return "step: until all gradients but those of the backups are there, and their sum; MB sent: by\n"
         "the first process of a node, between: to other nodes; of none: samples/s over those of\n"
         "--backups 0; waiting: share of a step in which all wait for the network\n";
}

}  // namespace

void check_scale_policy(const Synchronising& sync) {
  if (sync.policy == Policy::stale)
    refuse("--policy", "sync, local, async or backup", "stale, whose waits for the bound have no closed form",
           "--policy async, which no bound holds up");
  if (sync.policy == Policy::local) check_local(sync);
  if (sync.is_ordered()) check_times(sync);
}

std::string policy_flags(const Synchronising& sync) {
  if (sync.policy == Policy::local) return fmt::format("--policy local --every {}", sync.every);
  if (sync.policy == Policy::backup)
    return fmt::format("--policy backup --backups {} --times {}", sync.backups, sync.times);
  return sync.policy == Policy::sync ? kSynchronous : "--policy async";
}

std::string policy_tables(const PolicyLines& lines, const Synchronising& sync) {
  std::string text;
  for (size_t i = 0; i < lines.lines.size(); ++i)
    text += table_of(lines.lines[i], lines.beside.at(i), policy_flags(sync), sync.policy == Policy::backup) + "\n";
  return text + columns_text(sync);
}

}  // namespace kb
