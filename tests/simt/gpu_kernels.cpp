#include "tests/simt/gpu_kernels.h"

#include <algorithm>

#include "graph/error.h"

namespace kb::test {
namespace {

BufferRange range_of(const ir::BufferParam& param, const ir::Memory& buffer) {
  const bool is_counter = param.scratch && param.dtype == DType::u32;
  return {static_cast<std::byte*>(buffer.data), buffer.elements * size_of(buffer.dtype), buffer.defined || is_counter,
          param.scratch};
}

}  // namespace

void GpuKernels::add(const Schedule& schedule) {
  for (const ir::Kernel& kernel : schedule.kernels) add(kernel);
}

KernelRunner GpuKernels::runner() {
  return [this](const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                std::span<const ir::Memory> buffers) { run(kernel, arguments, tiles, buffers); };
}

std::vector<BufferRange> ranges_of(const ir::Kernel& kernel, std::span<const ir::Memory> buffers) {
  std::vector<BufferRange> ranges;
  for (size_t i = 0; i < buffers.size(); ++i) ranges.push_back(range_of(kernel.buffers[i], buffers[i]));
  std::sort(ranges.begin(), ranges.end(), [](const auto& x, const auto& y) { return x.begin < y.begin; });
  std::vector<BufferRange> merged;
  for (const BufferRange& range : ranges) {
    if (merged.empty() || range.begin >= merged.back().begin + merged.back().bytes) {
      merged.push_back(range);
      continue;
    }
    BufferRange& last = merged.back();
    last.bytes = std::max<int64_t>(last.bytes, range.begin + range.bytes - last.begin);
    last.defined |= range.defined;
    last.scratch &= range.scratch;
  }
  return merged;
}

size_t range_of(std::span<const BufferRange> ranges, const ir::Memory& buffer) {
  for (size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].holds(buffer.data)) return i;
  throw InternalError("a buffer of no elements");
}

}  // namespace kb::test
