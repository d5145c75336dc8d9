// Measures the network between the processes, for cost models.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Times halving-doubling all-reduces, short ones and ones of `bytes` a rank. A short one takes 2 floor(lg p) latencies;
// what a longer one takes more gives the bandwidth by halving_doubling_seconds(), which thus includes the additions.
// Every rank calls it while no reduction is active, and all get the same figures. A single rank gets latency 0 and
// infinite bandwidth. The algorithm is halving-doubling after it.
Network measure_network(Communicator& communicator, int64_t bytes = 4 << 20, int rounds = 9);

}  // namespace kb
