// The network that a cost model should reckon with, measured.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Of halving-doubling all-reduces, short and of `bytes` a rank. A reduction takes
//   2 floor(lg p) latency + B / bandwidth, B the bytes of the rank that sends most (struct Traffic):
// messages between binary blocks travel beside those inside the blocks, and the sums are part of the bandwidth. All
// ranks call it, with nothing under way, and get the same figures. Of one rank: no latency, infinite bandwidth.
// Chooses halving-doubling.
Network measure_network(Communicator& communicator, int64_t bytes = 4 << 20, int rounds = 9);

}  // namespace kb
