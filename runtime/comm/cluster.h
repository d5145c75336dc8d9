// A model of a cluster: nodes of several workers, a network inside a node and one between nodes. It predicts the time
// of the all-reduces of the literature (Thakur, Rabenseifner and Gropp 2005; Goyal et al. 2017, section 4.2).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb {

struct Cluster {
  int per_node = 1;  // workers of a node
  Network inside, between;
};

// Returns the seconds of an all-reduce of `bytes` over `ranks` equal ranks p, for p that divides the bytes n. Both
// algorithms carry 2n(p - 1)/p bytes; halving-doubling has 2 floor(lg p) latencies, ring has 2(p - 1). For a p that is
// no power of two see runtime/comm/cost.h. Throws Error for an algorithm without a model.
double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int ranks, const Network& network);

// Returns the seconds of an all-reduce on a cluster. If `workers` need more than one node it has three phases: the sum
// in every node, along a chain of its workers (a latency for each worker but one, and every byte over each link once);
// the all-reduce between nodes; and the way back along the chain. In one node it is the all-reduce alone.
double all_reduce_seconds(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster);

// Returns the seconds of an all-reduce over nodes whose workers all have the same terms, as replicas that are joined
// do: the all-reduce between the nodes' first workers, and the way along the chain of each node; 0 in one node.
double node_all_reduce_seconds(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster);

// The bytes that one worker sends to others of its node, and to other nodes.
struct SentBytes {
  double inside = 0, between = 0;
};
// Returns what the first worker of the first node sends in either of these all-reduces, which is 2n(p - 1)/p for p
// ranks that divide n (runtime/comm/communicator.h has the other counts), and n along a chain.
SentBytes all_reduce_bytes(Algorithm algorithm, int64_t bytes, int workers, const Cluster& cluster);

}  // namespace kb
