// Kernels of a GPU as tests run them: emulated, or on a device.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule_interpreter.h"

namespace kb::test {

class GpuKernels {
 public:
  virtual ~GpuKernels() = default;
  // Equal kernels once.
  virtual void add(const ir::Kernel& kernel) = 0;
  void add(const Schedule& schedule);
  // All that were added, together.
  virtual void compile() = 0;
  // As ir::run. Runs the kernel twice; InternalError where a bit of the results differs.
  virtual void run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                   std::span<const ir::Memory> buffers) = 0;
  KernelRunner runner();
};

// Bytes that some of a launch's buffers cover together (in-place, views of one buffer).
struct BufferRange {
  std::byte* begin = nullptr;
  int64_t bytes = 0;
  bool defined = false;  // has values before the launch; a counter of `last_block` has 0
  bool scratch = true;   // nobody looks at what the launch leaves there

  bool holds(const void* at) const { return at >= begin && at < begin + bytes; }
};
std::vector<BufferRange> ranges_of(const ir::Kernel& kernel, std::span<const ir::Memory> buffers);
// The range that holds a buffer.
size_t range_of(std::span<const BufferRange> ranges, const ir::Memory& buffer);

}  // namespace kb::test
