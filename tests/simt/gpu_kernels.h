// Kernels of a GPU in tests: they are emulated, or run on a device.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tests/interpreters/schedule_interpreter.h"

namespace kb::test {

class GpuKernels {
 public:
  virtual ~GpuKernels() = default;
  // Adds a kernel; equal ones are added once.
  virtual void add(const ir::Kernel& kernel) = 0;
  void add(const Schedule& schedule);
  // Compiles all kernels that were added, together.
  virtual void compile() = 0;
  // Runs a kernel twice, with the arguments of ir::run. Throws InternalError when a bit of the results differs.
  virtual void run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                   std::span<const ir::Memory> buffers) = 0;
  KernelRunner runner();
};

// The bytes that overlapping buffers of a launch cover together (in-place operands, views of one buffer).
struct BufferRange {
  std::byte* begin = nullptr;
  int64_t bytes = 0;
  bool defined = false;  // true: has values before the launch; the counter of `last_block` is 0
  bool scratch = true;   // true: nobody reads what the launch leaves there

  bool holds(const void* at) const { return at >= begin && at < begin + bytes; }
};
std::vector<BufferRange> ranges_of(const ir::Kernel& kernel, std::span<const ir::Memory> buffers);
// Returns the number of the range that contains a buffer.
size_t range_of(std::span<const BufferRange> ranges, const ir::Memory& buffer);

}  // namespace kb::test
