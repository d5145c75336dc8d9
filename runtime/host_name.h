// The name of the machine that this process runs on.
#pragma once
#include <string>

namespace kb {

// Returns the machine's name in the network; "unknown" if the system does not say.
std::string host_name();

}  // namespace kb
