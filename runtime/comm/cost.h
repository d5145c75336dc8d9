// Predicts the time that an all-reduce takes on a network whose figures are given or measured.
#pragma once
#include "runtime/comm/communicator.h"

namespace kb {

// Returns the seconds of a halving-doubling all-reduce. Additions cost nothing, since they are done while the next
// chunks are on their way. (The figures of a measured network include both.) p = 2^k ranks do the same at the same
// time: 2k latency + 2n(p - 1)/p / bandwidth. For other numbers of ranks the moves of all ranks are replayed one after
// another, as the CPU's communicators make them.
double halving_doubling_seconds(int64_t bytes, int ranks, const Network& network);

}  // namespace kb
