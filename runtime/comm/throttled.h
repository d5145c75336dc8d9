// Imitates a network by sleeping: each message takes the time that Network says, beside the time of the link under it.
// The ranks share the machine's clock.
#pragma once
#include "runtime/comm/link.h"

namespace kb {

// sleeps: times are on the machine's clock. counts: each rank has its own clock, which begins at 0 and advances by the
// time of its messages alone, so that a test sees the network and nothing else.
enum class Throttle : uint8_t { sleeps, counts };

// Returns the link itself if `network` is null.
std::unique_ptr<Link> throttled(std::unique_ptr<Link> link, const Network* network,
                                Throttle throttle = Throttle::sleeps);

}  // namespace kb
