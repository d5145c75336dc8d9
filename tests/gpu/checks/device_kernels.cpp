#include "tests/gpu/checks/device_kernels.h"

#include <cstring>

#include "compiler/print/cuda.h"
#include "runtime/cuda/launch.h"
#include "tests/gpu/checks/device_block.h"

namespace kb::test {

DeviceKernels::DeviceKernels(TestGpu& gpu) : gpu_(gpu), compiler_(gpu.factories({}).compiler(gpu_.device)) {}

void DeviceKernels::compile() {
  KernelBatch batch;
  batch.prelude = cuda_prelude();
  for (const auto& [name, kernel] : kernels_) batch.kernels.push_back({name, print_cuda(kernel)});
  LoadReport report;
  modules_ = std::make_unique<cuda::Modules>(gpu_.device, *compiler_, batch, report);
}

void DeviceKernels::run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                        std::span<const ir::Memory> buffers) {
  ensure(tiles.size() == 1, "a kernel for a GPU has one phase");
  if (tiles[0] == 0) return;
  const std::vector<BufferRange> ranges = ranges_of(kernel, buffers);
  const auto blocks = static_cast<unsigned>(tiles[0]);
  const Results results = launch(kernel, arguments, blocks, buffers, ranges, 0);
  if (launch(kernel, arguments, blocks, buffers, ranges, DeviceBlock::kMargin) != results)
    throw InternalError("kernel " + kernel.name + ": a second run gives other bits");
  for (size_t i = 0; i < ranges.size(); ++i)
    if (!ranges[i].scratch) std::memcpy(ranges[i].begin, results[i].data(), results[i].size());
}

DeviceKernels::Results DeviceKernels::launch(const ir::Kernel& kernel, std::span<const int64_t> arguments,
                                             unsigned blocks, std::span<const ir::Memory> buffers,
                                             std::span<const BufferRange> ranges, size_t margin) const {
  const cuda::OpenDevice& device = gpu_.device;
  std::vector<std::unique_ptr<DeviceBlock>> memory;
  for (const BufferRange& range : ranges) {
    const size_t shift = reinterpret_cast<uintptr_t>(range.begin) % 256;
    memory.push_back(std::make_unique<DeviceBlock>(device, range.bytes, margin, shift));
    if (range.defined || !range.scratch)  // a launch may write only a part of an output
      memory.back()->write({range.begin, static_cast<size_t>(range.bytes)});
  }
  std::vector<void*> operands;
  for (const ir::Memory& buffer : buffers) {
    const size_t at = range_of(ranges, buffer);
    operands.push_back(memory[at]->data() + (static_cast<std::byte*>(buffer.data) - ranges[at].begin));
  }
  cuda::Launch(device.driver, kernel, modules_->kernel(kernel.name), blocks, {arguments.begin(), arguments.end()})
      .enqueue(device.driver, device.compute, operands);
  device.wait();
  Results results;
  for (size_t i = 0; i < ranges.size(); ++i)
    results.push_back(ranges[i].scratch ? std::vector<std::byte>() : memory[i]->read());
  return results;
}

}  // namespace kb::test
