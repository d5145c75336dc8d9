// A described network, slept: each message takes as long as Network says, beside what the link under it takes. Ranks
// share the machine's clock.
#pragma once
#include "runtime/comm/link.h"

namespace kb {

// The link itself where there is no network to imitate.
std::unique_ptr<Link> throttled(std::unique_ptr<Link> link, const Network* network);

}  // namespace kb
