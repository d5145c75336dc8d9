// The link inside make_in_process_communicator, for tests of what is built on a link.
#pragma once
#include "runtime/comm/link.h"

namespace kb {

std::unique_ptr<Link> make_in_process_link(std::shared_ptr<InProcessNetwork> network, int rank, double timeout);

}  // namespace kb
