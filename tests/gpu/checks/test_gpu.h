// A GPU as the checks of tests/gpu get it: a real one, or the fake of tests/runtime/cuda. What opens devices and
// backends on it, and how often its driver was called for what.
#pragma once
#include <memory>

#include "runtime/cuda/backend.h"

namespace kb::test {

// Calls of the driver, counted over all the tables of a TestGpu.
struct DriverCalls {
  int64_t launches = 0, graph_launches = 0, captures = 0, copies = 0, allocations = 0;
};

class TestGpu {
 public:
  virtual ~TestGpu() = default;

  // A table whose calls are counted, the driver not initialised.
  std::unique_ptr<cuda::Driver> driver();
  virtual cuda::Factories factories(const CudaOptions& options) = 0;
  std::unique_ptr<Backend> backend(const CudaOptions& options = {});
  // How many times as far as on the fake, whose library is the CPU's, sums may be off the CPU's.
  virtual double slack() const = 0;

  DriverCalls calls;

 private:
  virtual std::unique_ptr<cuda::Driver> bare_driver() = 0;
};

// A device below all backends.
struct OpenGpu {
  explicit OpenGpu(TestGpu& gpu);
  cuda::DeviceHandles handles() const { return {*driver, device.handle, device.compute, device.capability}; }

  const std::unique_ptr<const cuda::Driver> driver;
  const cuda::OpenDevice device;
};

}  // namespace kb::test
