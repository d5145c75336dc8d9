// The network that a cost model should reckon with, measured.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Of halving-doubling all-reduces, short and of `bytes` a rank: the short one takes 2 floor(lg p) latencies, and the
// longer one as much more as halving_doubling_seconds says of the bandwidth, of which the sums are a part. All ranks
// call it, with nothing under way, and get the same figures. Of one rank: no latency, infinite bandwidth. Chooses
// halving-doubling.
Network measure_network(Communicator& communicator, int64_t bytes = 4 << 20, int rounds = 9);

}  // namespace kb
