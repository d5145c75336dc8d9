// Tests how the host waits for a device, and who is told of it.
#include "runtime/cuda/device.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/runtime/cuda/fake_gpu.h"
#include "tests/support/says.h"

namespace kb::device_test {

using namespace kb::cuda;
using namespace kb::test;

namespace {

struct Watch : DeviceWatch {
  void begin() override { told += "begin "; }
  void look() override { told += "look "; }
  void end() override { told += "end "; }
  std::string told;
};

std::unique_ptr<const Driver> initialised(FakeGpu& gpu) {
  std::unique_ptr<Driver> driver = gpu.driver();
  (*driver)(driver->init, 0u);
  return driver;
}

struct OpenedDevice {
  FakeGpu gpu;
  std::unique_ptr<const Driver> driver = initialised(gpu);
  OpenDevice device{*driver, 0};
  Watch watch;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_device, OpenedDevice)

BOOST_AUTO_TEST_CASE(a_wait_for_the_device_waits_for_each_stream) {
  gpu.log.clear();
  device.wait();
  BOOST_TEST(std::set(gpu.log.begin(), gpu.log.end()) ==
             (std::set<std::string>{"cuStreamSynchronize s1", "cuStreamSynchronize s2", "cuStreamSynchronize s3",
                                    "cuStreamSynchronize s4"}));
}

BOOST_AUTO_TEST_CASE(a_watch_is_told_of_waits_that_last) {
  device.set_watch(&watch);
  device.wait(device.compute);
  BOOST_TEST(watch.told == "look ");
  for (const char* query : {"cuStreamQuery", "cuEventQuery"}) {
    EventHandle event(*driver);
    event.record(device.compute);
    watch.told.clear();
    gpu.fail(query, 0, kNotReady);
    device.wait(device.compute);
    device.wait(event.get());
    BOOST_TEST((watch.told == "begin look look end look " || watch.told == "look begin look look end "), watch.told);
  }
}

// A host that only looked whether work is left would look for ever.
BOOST_AUTO_TEST_CASE(a_fault_ends_a_watched_wait) {
  device.set_watch(&watch);
  EventHandle event(*driver);
  event.record(device.compute);
  gpu.fail("cuStreamQuery", 0, kLaunchFailed);
  BOOST_CHECK_EXCEPTION(device.wait(device.compute), CallError,
                        says("cuStreamQuery failed: CUDA_ERROR_LAUNCH_FAILED (719)"));
  gpu.fail("cuEventQuery", 0, kIllegalAddress);
  BOOST_CHECK_EXCEPTION(device.wait(event.get()), CallError,
                        says("cuEventQuery failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::device_test
