// The judge of device libraries (tests/gpu/library_ops.h) on the fake GPU, whose library is the CPU's.
#include "tests/gpu/library_ops.h"

#include <boost/test/unit_test.hpp>

#include "tests/runtime/cuda/fake_backend.h"

using namespace kb;
using namespace kb::test;

namespace {

void on_the_fake(void (*check)(const cuda::OpenDevice&, const MakeLibrary&)) {
  FakeGpu gpu;
  const std::unique_ptr<cuda::Driver> driver = gpu.driver();
  (*driver)(driver->init, 0u);
  const cuda::OpenDevice device(*driver, 0);
  device.make_current();
  const cuda::DeviceHandles handles{*driver, device.handle, device.compute, device.capability};
  check(device, [&] { return make_cpu_library(gpu, handles); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_library_ops)

BOOST_AUTO_TEST_CASE(convolutions) { on_the_fake(check_convolutions); }

BOOST_AUTO_TEST_CASE(matrix_products) { on_the_fake(check_matmuls); }

BOOST_AUTO_TEST_SUITE_END()
