// The machine that this process runs on.
#pragma once
#include <string>

namespace kb {

// Returns its name in the network; "unknown" where the system does not say.
std::string host_name();

}  // namespace kb
