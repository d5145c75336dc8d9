// A GPU for the checks of tests/gpu: a real one, or the fake of tests/runtime/cuda. It opens devices and backends, and
// counts the calls of its driver.
#pragma once
#include <memory>

#include "runtime/cuda/backend.h"

namespace kb::test {

// Calls of the driver, counted over all tables of a TestGpu.
struct DriverCalls {
  int64_t launches = 0, graph_launches = 0, captures = 0, copies = 0, allocations = 0;
};

class TestGpu {
 public:
  virtual ~TestGpu() = default;

  // Returns a table whose calls are counted; the driver is not initialised.
  std::unique_ptr<cuda::Driver> driver();
  virtual cuda::Factories factories(const CudaOptions& options) = 0;
  std::unique_ptr<Backend> backend(const CudaOptions& options = {});
  // Returns the factor by which sums may be further off the CPU's than those of the fake, whose library is the CPU's.
  virtual double slack() const = 0;

  DriverCalls calls;

 private:
  virtual std::unique_ptr<cuda::Driver> bare_driver() = 0;
};

// A device without a backend.
struct OpenGpu {
  explicit OpenGpu(TestGpu& gpu);
  cuda::DeviceHandles handles() const { return {*driver, device.handle, device.compute, device.capability}; }

  const std::unique_ptr<const cuda::Driver> driver;
  const cuda::OpenDevice device;
};

}  // namespace kb::test
