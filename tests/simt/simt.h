// Runs CUDA C++ without a GPU. The text that NVRTC would get is compiled by the host's compiler after a prelude
// (prelude.cpp), which gives its words - __global__, threadIdx, __syncthreads, atomicAdd, float4 - a meaning on a CPU.
// The blocks of a grid run one after another in a chosen order; the threads of a block are fibers that take turns at
// barriers and warp exchanges. With Instrument::accesses every load and store of a kernel is watched, through the
// compiler's instrumentation for thread sanitizers. Errors that a GPU does not forgive become faults: accesses out of
// bounds, misaligned, or of a value that was not written, and races: two threads or two blocks that access one element
// without an order by barriers, fences and atomics. They are found in whatever order the accesses happened to run. So
// are accesses to memory that an asynchronous copy is under way to: copies arrive as late as a GPU may make them.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace kb::simt {

// An error in a kernel. The message names kernel, array, element, threads and blocks.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Instrument : uint8_t {
  none,        // finds barriers that not all threads reach and copies that no wait covers, and nothing else
  accesses,    // watches every access
  sanitizers,  // uses the build's sanitizers (KB_SANITIZE), which guard the memory
};

// Returns sanitizers if the build has address or undefined, else accesses.
Instrument default_instrument();

enum class Order : uint8_t { forward, reverse, shuffled };

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  Dim grid, block;
  Order blocks = Order::forward;
  Order threads = Order::forward;  // a new order after every barrier
  uint32_t seed = 0;               // seed of shuffled orders
  int64_t dynamic_shared = 0;      // bytes of the block's `extern __shared__` array

  // The most shared memory of a block, bytes: that of its own arrays, and with the dynamic one (sm_90).
  static constexpr int64_t kStaticShared = 49152, kShared = 232448;
};

// Memory that a launch may touch. A pointer among the parameters points into one of these.
struct Region {
  void* data = nullptr;
  int64_t bytes = 0;
  bool defined = true;  // false: must be written before it is read
};

struct Entry;
struct LaunchCounts {
  int64_t accesses = 0, barriers = 0;
};

// Translation units of CUDA text, compiled, kept in the kernel cache, and loaded until the process ends.
class Program {
 public:
  // Each text holds one kernel, `extern "C" __global__ void [__launch_bounds__(N)] NAME(...)`; `prelude` (types and
  // device functions) stands before them once in each translation unit. Equal names are one kernel. Throws
  // kb::InternalError when the compiler refuses a text.
  explicit Program(const std::string& prelude, std::span<const std::string> texts,
                   Instrument instrument = default_instrument());

  Instrument instrument() const { return instrument_; }
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return entries_.contains(name); }

  // Runs a launch. `parameters` has the address of each argument's value, as for cuLaunchKernel. Throws Fault. One
  // launch runs at a time, because shared memory belongs to the translation unit.
  LaunchCounts launch(const std::string& name, const Launch& launch, std::span<void* const> parameters,
                      std::span<const Region> memory) const;

 private:
  Instrument instrument_;
  std::map<std::string, const Entry*> entries_;
};

}  // namespace kb::simt
