// What an all-reduce costs on a described or measured network.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Bytes that the rank sends which sends most (struct Traffic), of an array that all ranks divide: 2n(q - 1)/q in a
// block of q ranks, n/q more for each neighbouring block; of two to the k ranks Rabenseifner's 2n(p - 1)/p.
double halving_doubling_bytes(int64_t bytes, int ranks);

// Seconds of a halving-doubling all-reduce: 2 floor(lg p) latency + the bytes above / bandwidth. What a message takes
// between blocks goes beside those inside; additions happen while the next chunks are under way. (A measured network
// has both in its figures.)
double halving_doubling_seconds(int64_t bytes, int ranks, const Network& network);

}  // namespace kb
