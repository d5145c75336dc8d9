// When this process began: what a user waits for the first step counts from there, not from main.
#pragma once
#include <chrono>
#include <cstdint>

namespace kb {

// To be called first in main, while the process has one thread.
std::chrono::steady_clock::time_point process_start();

// The age of a process that has computed for `processor_time`, began in tick number `start_tick` of the kernel since
// boot
// (-1: not known), where a tick takes `tick` and the machine runs for `since_boot`.
std::chrono::nanoseconds process_age(std::chrono::nanoseconds processor_time, std::chrono::nanoseconds since_boot,
                                     int64_t start_tick, std::chrono::nanoseconds tick);

}  // namespace kb
