// The CUDA backend on a fake GPU: its kernels are the text that NVRTC would get, run by the emulator; its library is
// the CPU's.
#pragma once
#include "tests/gpu/checks/test_gpu.h"
#include "tests/runtime/cuda/fake_gpu.h"
#include "tests/simt/simt.h"

namespace kb::test {

class FakeTestGpu : public TestGpu {
 public:
  // Kernels run with the emulator's checks of every access, or as fast as it can.
  explicit FakeTestGpu(const FakeOptions& options = {}, bool watched = false) : gpu(options), watched_(watched) {}
  cuda::Factories factories(const CudaOptions& options) override;
  double slack() const override { return 1; }

  FakeGpu gpu;

 private:
  std::unique_ptr<cuda::Driver> bare_driver() override { return gpu.driver(); }
  const bool watched_;
};

}  // namespace kb::test
