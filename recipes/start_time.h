// When this process began: what a user waits for the first step counts from there, not from main.
#pragma once
#include <chrono>

namespace kb {

// To be called first in main, while the process has one thread.
std::chrono::steady_clock::time_point process_start();

}  // namespace kb
