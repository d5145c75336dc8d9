// Tells when this program began, which the time to the first step is counted from. The process may be older: a shell
// that runs a program as its last command becomes it.
#pragma once
#include <chrono>

namespace kb {

// Returns when the program was loaded, before main.
std::chrono::steady_clock::time_point program_start();

}  // namespace kb
