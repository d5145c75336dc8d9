// Choosing among implementations of one library call by running them: interleaved, so that all see the same clocks and
// caches, and compared by their medians.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/library.h"

namespace kb::cuda {

// Device memory for the operands and scratch of trials: each at 256 bytes, filled with small finite numbers (of every
// float dtype). Freed with it.
class TrialMemory {
 public:
  TrialMemory(const DeviceHandles& device, std::span<const int64_t> bytes);
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  ~TrialMemory();
  void* operator[](size_t i) const { return parts_[i]; }

 private:
  const Driver& driver_;
  Address memory_ = 0;
  std::vector<void*> parts_;
};

// Implementations of one call, `count` of them, in the order of the library's own preference.
struct Trials {
  std::string library, call;  // "cuDNN 9.19.0", the key of its pick
  size_t count = 0;
  std::function<std::string(size_t i)> pick;  // of implementation i
  std::function<void(size_t i)> enqueue;      // one run of i, on the device's stream
};

// Which implementation takes the shortest median time; the first of those within 2 % of it, so that the choice rarely
// hangs on noise. As in a step, the runs come out of captured graphs: the host's time for a launch does not count, and
// an implementation that fails, or cannot be captured, is not chosen. Waits for all. Throws what the last
// implementation threw where none can be captured; InternalError, naming the implementation, where one makes the device
// fail, for nothing runs there afterwards.
size_t fastest(const DeviceHandles& device, const Trials& trials);

}  // namespace kb::cuda
