#include "tests/gpu/checks/test_gpu.h"

namespace kb::test {
namespace {

using cuda::Driver;

// Counts the calls of one function of a table.
template <auto kMember>
struct Counted;
template <class... P, Driver::Call<P...> Driver::*kMember>
struct Counted<kMember> {
  static inline cuda::Result (*original)(P...) = nullptr;
  static inline int64_t* count = nullptr;

  static cuda::Result call(P... arguments) {
    ++*count;
    return original(arguments...);
  }
  static void set(Driver& driver, int64_t& calls) {
    count = &calls;
    original = std::exchange((driver.*kMember).function, call);
  }
};

std::unique_ptr<const Driver> initialised(std::unique_ptr<Driver> driver) {
  (*driver)(driver->init, 0u);
  return driver;
}

}  // namespace

std::unique_ptr<Driver> TestGpu::driver() {
  std::unique_ptr<Driver> driver = bare_driver();
  Counted<&Driver::launch>::set(*driver, calls.launches);
  Counted<&Driver::graph_launch>::set(*driver, calls.graph_launches);
  Counted<&Driver::capture_begin>::set(*driver, calls.captures);
  Counted<&Driver::copy_to_device>::set(*driver, calls.copies);
  Counted<&Driver::memory_allocate>::set(*driver, calls.allocations);
  Counted<&Driver::host_allocate>::set(*driver, calls.allocations);
  return driver;
}

std::unique_ptr<Backend> TestGpu::backend(const CudaOptions& options) {
  return cuda::make_backend(driver(), options, factories(options));
}

OpenGpu::OpenGpu(TestGpu& gpu) : driver(initialised(gpu.driver())), device(*driver, 0) { device.make_current(); }

}  // namespace kb::test
