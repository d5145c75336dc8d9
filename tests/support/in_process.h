// A communicator whose ranks are threads of one process.
#pragma once
#include "runtime/comm/link.h"

namespace kb {

// The network must outlive its communicators.
class InProcessNetwork;
std::shared_ptr<InProcessNetwork> make_in_process_network(int ranks);
std::unique_ptr<Communicator> make_in_process_communicator(std::shared_ptr<InProcessNetwork> network, int rank,
                                                           const CommunicatorOptions& options = {});
// Returns the link inside such a communicator, for tests of what is built on a link.
std::unique_ptr<Link> make_in_process_link(std::shared_ptr<InProcessNetwork> network, int rank, double timeout);
// From now on the rank sends nothing and takes nothing, as a process that died.
void kill_rank(InProcessNetwork& network, int rank);

}  // namespace kb
