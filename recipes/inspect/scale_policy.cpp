#include "recipes/inspect/scale_policy.h"

#include <algorithm>
#include <functional>
#include <optional>

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

}  // namespace kb
