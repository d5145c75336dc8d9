// A described network, slept: each message takes as long as Network says, beside what the link under it takes. Ranks
// share the machine's clock.
#pragma once
#include "runtime/comm/link.h"

namespace kb {

// sleeps: by the machine's clock. counts: each rank has a clock of its own, which begins at 0 and goes on by what its
// messages take and by nothing else, so that a time is the network's alone (tests).
enum class Throttle : uint8_t { sleeps, counts };

// The link itself where there is no network to imitate.
std::unique_ptr<Link> throttled(std::unique_ptr<Link> link, const Network* network,
                                Throttle throttle = Throttle::sleeps);

}  // namespace kb
