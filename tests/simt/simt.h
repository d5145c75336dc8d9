// Runs CUDA C++ without a GPU: the text that NVRTC would get is compiled by the host's compiler behind a prelude
// (prelude.cpp) which gives its words - __global__, threadIdx, __syncthreads, atomicAdd, float4 - a meaning on a CPU.
// A grid runs one block after the other in a chosen order; the threads of a block are fibers that take turns at
// barriers and warp exchanges. Instrument::accesses watches every load and store of a kernel (the compiler's own
// instrumentation for thread sanitizers calls the emulator) and faults on what a GPU does not forgive: out of bounds,
// misaligned, read before it was written, and races - two threads, two blocks that reach one element in no order that
// barriers, fences and atomics establish - in whatever order they happened to run.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace kb::simt {

// An error of a kernel, something that it must not do. The message names kernel, array, element, threads and blocks.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Instrument : uint8_t {
  none,        // barriers that not all threads reach, nothing else
  accesses,    // every access
  sanitizers,  // the build's own (KB_SANITIZE): memory that the sanitizer guards
};

// Sanitizers where the build has address or undefined, else accesses.
Instrument default_instrument();

enum class Order : uint8_t { forward, reverse, shuffled };

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  Dim grid, block;
  Order blocks = Order::forward;
  Order threads = Order::forward;  // anew after every barrier
  uint32_t seed = 0;               // of shuffled orders
};

// Memory that a launch may touch; a pointer among its parameters leads into one of these.
struct Region {
  void* data = nullptr;
  int64_t bytes = 0;
  bool defined = true;  // false: must be written before it is read
};

struct Entry;
struct LaunchCounts {
  int64_t accesses = 0, barriers = 0;
};

// Translation units of CUDA text, compiled and loaded for as long as the process lives; kept in the kernel cache.
class Program {
 public:
  // Each text holds one or more `extern "C" __global__ void [__launch_bounds__(N)] NAME(...)`; `prelude` (types and
  // Each text holds one kernel, `extern "C" __global__ void [__launch_bounds__(N)] NAME(...)`; `prelude` (types and
  // device functions) stands before them once a translation unit. Equal names are one kernel. kb::InternalError where
  // the compiler refuses.
  explicit Program(const std::string& prelude, std::span<const std::string> texts,
                   Instrument instrument = default_instrument());

  Instrument instrument() const { return instrument_; }
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return entries_.contains(name); }

  // `parameters` as cuLaunchKernel takes them: the address of each argument's value. Throws Fault. One launch at a
  // time: shared memory is the translation unit's own.
  LaunchCounts launch(const std::string& name, const Launch& launch, std::span<void* const> parameters,
                      std::span<const Region> memory) const;

 private:
  Instrument instrument_;
  std::map<std::string, const Entry*> entries_;
};

}  // namespace kb::simt
