#include "runtime/comm/cluster.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "runtime/comm/cost.h"

namespace kb {

double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int ranks, const Network& network) {
  if (algorithm == Algorithm::halving_doubling) return halving_doubling_seconds(bytes, ranks, network);
  if (algorithm != Algorithm::ring)
    throw Error(fmt::format("there is no model of the all-reduce \"{}\"", name(algorithm)));
  if (ranks == 1) return 0;
  return 2.0 * (ranks - 1) * (network.latency + static_cast<double>(bytes) / ranks / network.bandwidth);
}

double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster) {
  if (workers <= cluster.per_node) return all_reduce_seconds(algorithm, bytes, workers, cluster.inside);
  const int nodes = (workers + cluster.per_node - 1) / cluster.per_node;
  const double chain = cluster.per_node == 1 ? 0
                                             : (cluster.per_node - 1) * cluster.inside.latency +
                                                   static_cast<double>(bytes) / cluster.inside.bandwidth;
  return 2 * chain + all_reduce_seconds(algorithm, bytes, nodes, cluster.between);
}

}  // namespace kb
