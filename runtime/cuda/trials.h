// Choosing among implementations of one library call by running them: interleaved, so that all see the same clocks,
// with cold caches, and compared by their medians.
#pragma once
#include <functional>
#include <string>

#include "runtime/cuda/library.h"
#include "runtime/cuda/trial_memory.h"

namespace kb::cuda {

// Implementations of one call, `count` of them, in the order of the library's own preference.
struct Trials {
  std::string library, call;  // "cuDNN 9.19.0", the key of its pick
  size_t count = 0;
  std::function<std::string(size_t i)> pick;  // of implementation i
  // One run of i on the device's stream, on this copy of the operands.
  std::function<void(size_t i, size_t copy)> enqueue;
};

// Which implementation takes the shortest median time; the first of those within 2 % of it, so that the choice rarely
// hangs on noise. Runs find their operands in no cache, as those of a step that is larger than it. As in a step, the
// runs come out of captured graphs: the host's time for a launch does not count, and an implementation that fails, or
// cannot be captured, is not chosen. Waits for all. Throws what the last implementation threw where none can be
// captured; InternalError, naming the implementation, where one makes the device fail, for nothing runs there
// afterwards.
size_t fastest(const DeviceHandles& device, const TrialMemory& memory, const Trials& trials);

}  // namespace kb::cuda
