// Runs the checks of tests/gpu/checks on the first GPU, with the parts that the plug-in consists of and with the
// plug-in itself.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "runtime/cuda/vendor/factories.h"
#include "runtime/host_compiler.h"
#include "tests/gpu/checks/checks.h"

using namespace kb;
using namespace kb::test;
using boost::unit_test::data::make;

namespace {

class RealGpu : public TestGpu {
 public:
  cuda::Factories factories(const CudaOptions& options) override { return cuda::vendor_factories(options); }
  // Its library sums in other orders, and some of its algorithms are no plain sums.
  double slack() const override { return 100; }

 private:
  std::unique_ptr<cuda::Driver> bare_driver() override {
    auto driver = std::make_unique<cuda::Driver>();
    std::string why;
    if (!open_table(*driver, "libcuda.so.1", why)) throw Error(why);
    return driver;
  }
};

// Returns why there is no GPU; empty when there is one.
std::string no_gpu() {
  cuda::Driver driver;
  std::string why;
  int count = 0;
  if (!open_table(driver, "libcuda.so.1", why)) return why;
  try {
    driver(driver.init, 0u);
    driver(driver.device_count, &count);
  } catch (const cuda::CallError& error) {
    return error.what();
  }
  return count > 0 ? "" : "the driver finds no device";
}

std::string no_host_compiler() {
  try {
    find_host_compiler(RuntimeOptions::from_environment());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Returns true, and prints the reason, when a check cannot run here.
bool skipped(bool beside_cpu) {
  const std::string gpu = no_gpu();
  const std::string compiler = gpu.empty() && beside_cpu ? no_host_compiler() : "";
  if (!gpu.empty()) std::printf("SKIPPED: no GPU: %s\n", gpu.c_str());
  if (!compiler.empty()) std::printf("SKIPPED: the CPU's kernels cannot be compiled: %s\n", compiler.c_str());
  return !gpu.empty() || !compiler.empty();
}

std::string no_nccl() {
  try {
    cuda::check_version(*cuda::open_nccl());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Returns the checks of recipes that compare with the CPU, or the others.
std::vector<GpuCheck> recipes_checked(bool beside_cpu) {
  std::vector<GpuCheck> checks = recipe_checks();
  std::erase_if(checks, [&](const GpuCheck& check) { return check.beside_cpu != beside_cpu; });
  return checks;
}

void on_a_gpu(const GpuCheck& check) {
  if (skipped(check.beside_cpu)) return;
  RealGpu gpu;
  run_check(check, gpu);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gpu_kernels)
BOOST_DATA_TEST_CASE(of_class, make(kernel_checks()), check) { on_a_gpu(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gpu_library)
BOOST_DATA_TEST_CASE(of_op, make(library_checks()), check) { on_a_gpu(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gpu_sessions)
BOOST_DATA_TEST_CASE(sessions, make(session_checks()), check) { on_a_gpu(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gpu_recipes)
BOOST_DATA_TEST_CASE(beside_cpu, make(recipes_checked(true)), check) { on_a_gpu(check); }
BOOST_DATA_TEST_CASE(alone, make(recipes_checked(false)), check) { on_a_gpu(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gpu_collective)
BOOST_DATA_TEST_CASE(over_nccl, make(collective_checks()), check) {
  const std::string nccl = no_nccl();
  if (nccl.empty()) return on_a_gpu(check);
  std::printf("SKIPPED: no NCCL: %s\n", nccl.substr(0, nccl.find('\n')).c_str());
}
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gpu_plugin)

BOOST_AUTO_TEST_CASE(it_opens_the_device) {
  if (skipped(false)) return;
  const std::string text = open_cuda_backend({})->description();
  BOOST_TEST_MESSAGE(text);
  BOOST_TEST(text.starts_with("cuda: "));
}

BOOST_AUTO_TEST_SUITE_END()
