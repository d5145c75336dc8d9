#include "runtime/cuda/open.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/train/device.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::open_test {

using namespace kb::test;

namespace {

bool has_gpu() {
  try {
    open_cuda_backend({});
    return true;
  } catch (const Error&) {
    return false;
  }
}

RunConfig flags_of(const std::string& device) {
  RunConfig config = default_config(lenet_mnist());
  config.machine.device = choice_of("--device", kDevices, device);
  return config;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_open)

BOOST_AUTO_TEST_CASE(the_places_are_beside_the_program) {
  const CudaPlaces places = cuda_places();
  BOOST_REQUIRE(places.plugins.size() >= 2u);
  BOOST_TEST(places.plugins[0].parent_path() == std::filesystem::read_symlink("/proc/self/exe").parent_path());
  BOOST_TEST(places.driver == "libcuda.so.1");
}

BOOST_AUTO_TEST_CASE(without_the_plugin_it_says_how_to_make_it) {
  BOOST_CHECK_EXCEPTION(open_cuda_backend({}, {{"/none/libkilobatch_cuda.so"}, "libm.so.6"}), Error,
                        says("no GPU can be used", "missing: Kilobatch's GPU library, libkilobatch_cuda.so",
                             "no /none/libkilobatch_cuda.so", "cmake -DKB_CUDA=ON"));
}

// The file given as the plug-in is no library; it is not opened, because there is no driver.
BOOST_AUTO_TEST_CASE(without_a_driver_it_says_so) {
  BOOST_CHECK_EXCEPTION(open_cuda_backend({}, {{"/proc/self/exe"}, "libcuda_that_is_not_there.so.1"}), Error,
                        says("missing: the CUDA driver", "libcuda_that_is_not_there.so.1", "NVIDIA's driver"));
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_driver_is_named) {
  BOOST_CHECK_EXCEPTION(open_cuda_backend({}, {{"/proc/self/exe"}, "libm.so.6"}), Error,
                        says("missing: the CUDA driver", "libm.so.6 has no cuGetErrorName"));
}

BOOST_AUTO_TEST_CASE(without_the_plugin_library_calls_are_not_planned) {
  const DevicelessLibrary none = open_deviceless_library("sm_90", {{"/none/libkilobatch_cuda.so"}, ""}),
                          other = open_deviceless_library("sm_90", {{"/proc/self/exe"}, ""});
  BOOST_TEST(!none.query);
  BOOST_TEST(none.name == "not planned: libkilobatch_cuda.so is not there");
  BOOST_TEST(!other.query);
  BOOST_TEST(other.name.starts_with("not planned: no GPU can be used\n  missing: a library"));
}

BOOST_AUTO_TEST_CASE(device_cuda_without_a_gpu_is_an_error_and_auto_says_why_it_is_the_cpu) {
  if (has_gpu()) {
    BOOST_TEST_MESSAGE("skipped: there is a GPU");
    return;
  }
  BOOST_CHECK_EXCEPTION(choose_device(flags_of("cuda").machine, 0), Error,
                        says("machine.device = cuda: no GPU can be used\n  missing: ", "\n  got: ", "\n  hint: ",
                             "\n  or:      machine.device = cpu"));
  const Device device = choose_device(flags_of("auto").machine, 0);
  BOOST_TEST(device.backend->description().starts_with("cpu: "));
  BOOST_TEST(device.reason.starts_with("machine.device = auto: no GPU can be used, missing: "));
  BOOST_TEST(!contains(device.reason, "\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::open_test
