// Which GPU each rank of a run takes: one of its own.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace kb::cuda {

// The number of this rank's GPU among those that it sees, which `bus_ids` names; it throws Error where there are none.
// Every rank calls it at the same time. Throws Error, on every rank, where one of them sees none, or two would share
// one.
int share_devices(Communicator& ranks, const std::function<std::vector<std::string>()>& bus_ids);

}  // namespace kb::cuda
