// Launches kernels one by one on a device, in place of the KernelIR interpreter.
#pragma once
#include <map>

#include "runtime/cuda/modules.h"
#include "tests/gpu/checks/test_gpu.h"
#include "tests/simt/gpu_kernels.h"

namespace kb::test {

class DeviceKernels : public GpuKernels {
 public:
  explicit DeviceKernels(TestGpu& gpu);

  using GpuKernels::add;
  void add(const ir::Kernel& kernel) override { kernels_.try_emplace(kernel.name, kernel); }
  void compile() override;
  // The first run is in memory that ends where the buffers do, with scratch that was not written; the second is in
  // memory with a margin. Both are as far from a multiple of 256 as the buffers.
  void run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
           std::span<const ir::Memory> buffers) override;

  Target target() const { return cuda::device_target(gpu_.device); }

 private:
  using Results = std::vector<std::vector<std::byte>>;  // bytes of each range that is not scratch
  Results launch(const ir::Kernel& kernel, std::span<const int64_t> arguments, unsigned blocks,
                 std::span<const ir::Memory> buffers, std::span<const BufferRange> ranges, size_t margin) const;

  OpenGpu gpu_;
  std::unique_ptr<cuda::Compiler> compiler_;
  std::map<std::string, ir::Kernel> kernels_;
  std::unique_ptr<cuda::Modules> modules_;
};

}  // namespace kb::test
