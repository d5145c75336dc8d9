// cuDNN and cuBLASLt on a GPU.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <optional>

#include "runtime/cuda/vendor/vendor_library.h"
#include "tests/gpu/library_ops.h"

using namespace kb;

namespace {

// The first device, or why there is none.
struct Gpu {
  Gpu() {
    int count = 0;
    if (!open_driver(driver, "libcuda.so.1", why)) return;
    if (driver.init.function(0) != cuda::kSuccess || driver.device_count.function(&count) != cuda::kSuccess ||
        count == 0)
      why = "the driver finds no device";
    else
      device.emplace(driver, 0);
  }
  cuda::Driver driver;
  std::optional<cuda::OpenDevice> device;
  std::string why;
};

void on_a_gpu(void (*check)(const cuda::OpenDevice&, const test::MakeLibrary&)) {
  Gpu gpu;
  if (!gpu.device) {
    std::printf("SKIPPED: no GPU: %s\n", gpu.why.c_str());
    BOOST_TEST(!gpu.why.empty());
    return;
  }
  gpu.device->make_current();
  const cuda::DeviceHandles handles{gpu.driver, gpu.device->handle, gpu.device->compute, gpu.device->capability};
  check(*gpu.device, [&] { return cuda::make_vendor_library(handles, true); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gpu_library)

BOOST_AUTO_TEST_CASE(convolutions) { on_a_gpu(test::check_convolutions); }

BOOST_AUTO_TEST_CASE(matrix_products) { on_a_gpu(test::check_matmuls); }

BOOST_AUTO_TEST_SUITE_END()
