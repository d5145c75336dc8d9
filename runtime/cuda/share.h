// Gives each rank of a run a GPU of its own.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb::cuda {

// Returns the number of this rank's GPU among those that it sees. `bus_ids` names these, and throws Error when there
// are none. Every rank calls it at the same time. Throws Error, on every rank, when one of them sees no GPU or two
// would share one.
int share_devices(Communicator& ranks, const std::function<std::vector<std::string>()>& bus_ids);

}  // namespace kb::cuda
