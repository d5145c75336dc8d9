// A described cluster: nodes of several workers each, a network inside a node and one between nodes; and what the
// all-reduces of the literature cost on it (Thakur, Rabenseifner and Gropp 2005; Goyal et al. 2017, section 4.2).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb {

struct Cluster {
  int per_node = 1;  // workers
  Network inside, between;
};

// Seconds of an all-reduce of `bytes` over `ranks` alike: halving-doubling 2 lg p latency (rounded down), ring
// 2(p - 1) latency, both 2n(p - 1)/p bytes for p that divide n; see runtime/comm/cost.h for counts that are no power of
// two. Throws Error for an algorithm without a model.
double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int ranks, const Network& network);

// In three phases where `workers` need more than one node: the sum in every node, down a chain of its workers (one
// worker less latencies, every byte over each link once); the all-reduce between nodes; and the way back up. In one
// node the all-reduce alone.
double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster);

}  // namespace kb
