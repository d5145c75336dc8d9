// The CUDA backend on a fake GPU: its kernels are the text that NVRTC would get, run by the emulator; its library is
// the CPU's.
#pragma once
#include "tests/gpu/checks/test_gpu.h"
#include "tests/runtime/cuda/fake_gpu.h"
#include "tests/runtime/cuda/fake_nccl.h"
#include "tests/simt/simt.h"

namespace kb::test {

class FakeTestGpu : public TestGpu {
 public:
  // If `watched`, the emulator checks every access of a kernel; otherwise it runs kernels as fast as it can. `nccl`
  // connects the backends of several ranks; null: there is one rank.
  explicit FakeTestGpu(const FakeOptions& options = {}, bool watched = false, FakeNccl* nccl = nullptr)
      : gpu(options), watched_(watched), nccl_(nccl) {}
  cuda::Factories factories(const CudaOptions& options) override;
  double slack() const override { return 1; }

  FakeGpu gpu;

 private:
  std::unique_ptr<cuda::Driver> bare_driver() override { return gpu.driver(); }
  const bool watched_;
  FakeNccl* const nccl_;
};

}  // namespace kb::test
