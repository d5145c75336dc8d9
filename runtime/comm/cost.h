// The time that an all-reduce takes on a described or measured network.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Seconds of a halving-doubling all-reduce; additions happen while the next chunks are under way. (A measured network
// has both in its figures.) Ranks p = 2^k do the same at the same time: 2k latency + 2n(p - 1)/p / bandwidth. For other
// counts the moves of all ranks are replayed, each after the one before, as the CPU's communicators do.
double halving_doubling_seconds(int64_t bytes, int ranks, const Network& network);

}  // namespace kb
