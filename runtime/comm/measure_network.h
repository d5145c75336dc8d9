// The network that a cost model should reckon with, measured.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Times halving-doubling all-reduces, short ones and ones of `bytes` a rank: a short one takes 2 floor(lg p) latencies,
// and a longer one as much more as halving_doubling_seconds says of the bandwidth, in which the sums are counted.
// Collective call, to be made with nothing under way; all ranks get the same figures. One rank alone gets no latency
// and infinite bandwidth. Chooses halving-doubling.
Network measure_network(Communicator& communicator, int64_t bytes = 4 << 20, int rounds = 9);

}  // namespace kb
