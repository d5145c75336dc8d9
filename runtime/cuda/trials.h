// Chooses among implementations of one library call by running them. Their runs are interleaved, so that all see the
// same clocks, begin with cold caches, and are compared by their medians.
#pragma once
#include <exception>
#include <functional>
#include <string>

#include "runtime/cuda/call_memory.h"
#include "runtime/cuda/library.h"

namespace kb::cuda {

// `count` implementations of one call, in the order that the library prefers.
struct Trials {
  std::string library, call;  // a text: "cuDNN 9.19.0"; the key of the call's pick
  size_t count = 0;
  std::function<std::string(size_t i)> pick;  // names implementation i
  // Enqueues one run of implementation i on the device's stream, on this copy of the operands.
  std::function<void(size_t i, size_t copy)> enqueue;
};

// Waits for the device. Throws when its work has failed: `who` did it (a text: "a trial of implementation '3'"), and
// `failure` is the library's message, if it gave one, since libraries do not tell the driver's result.
void check_device(const DeviceHandles& device, const Trials& trials, const std::string& who,
                  const std::string& failure = "");
// Returns the message of an exception that an implementation threw.
std::string failure_of(const std::exception_ptr& fault);

// Returns the implementation with the shortest median time, or the first one within 2 % of it, so that noise rarely
// decides. A run finds its operands in no cache, as in a step that is larger than the cache. As in a step, the runs are
// replayed from captured graphs: the host's time for a launch does not count, and an implementation that fails or
// cannot be captured is not chosen. Waits for all runs. If none can be captured, throws what the last implementation
// threw. If one makes the device fail, throws InternalError, which names it, since nothing can run there any more.
size_t fastest(const DeviceHandles& device, const CallMemory& memory, const Trials& trials);

}  // namespace kb::cuda
