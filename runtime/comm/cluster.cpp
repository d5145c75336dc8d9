#include "runtime/comm/cluster.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "runtime/comm/cost.h"
#include "runtime/comm/halving_doubling.h"

namespace kb {
namespace {

int nodes_of(int workers, const Cluster& cluster) { return (workers + cluster.per_node - 1) / cluster.per_node; }

double chain_seconds(int64_t bytes, const Cluster& cluster) {
  if (cluster.per_node == 1) return 0;
  return (cluster.per_node - 1) * cluster.inside.latency + static_cast<double>(bytes) / cluster.inside.bandwidth;
}

// Returns the bytes that rank 0 sends.
double first_rank_bytes(Algorithm algorithm, int64_t bytes, int ranks) {
  if (algorithm == Algorithm::ring) return 2.0 * static_cast<double>(bytes) * (ranks - 1) / ranks;
  std::vector<Move> moves;
  plan_halving_doubling(0, ranks, bytes, 1, moves);
  double sent = 0;
  for (const Move& move : moves) sent += static_cast<double>(move.send.elements());
  return sent;
}

}  // namespace

double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int ranks, const Network& network) {
  if (algorithm == Algorithm::halving_doubling) return halving_doubling_seconds(bytes, ranks, network);
  if (algorithm != Algorithm::ring)
    throw Error(fmt::format("there is no model of the all-reduce \"{}\"", name(algorithm)));
  if (ranks == 1) return 0;
  return 2.0 * (ranks - 1) * (network.latency + static_cast<double>(bytes) / ranks / network.bandwidth);
}

double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster) {
  if (workers <= cluster.per_node) return all_reduce_seconds(algorithm, bytes, workers, cluster.inside);
  return 2 * chain_seconds(bytes, cluster) +
         all_reduce_seconds(algorithm, bytes, nodes_of(workers, cluster), cluster.between);
}

double node_all_reduce_seconds(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster) {
  if (workers <= cluster.per_node) return 0;
  return chain_seconds(bytes, cluster) +
         all_reduce_seconds(algorithm, bytes, nodes_of(workers, cluster), cluster.between);
}

SentBytes all_reduce_bytes(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster) {
  if (workers <= cluster.per_node) return {first_rank_bytes(algorithm, bytes, workers), 0};
  return {cluster.per_node == 1 ? 0 : static_cast<double>(bytes),
          first_rank_bytes(algorithm, bytes, nodes_of(workers, cluster))};
}

}  // namespace kb
