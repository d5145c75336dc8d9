// Runs on the fake GPU the checks that tests/gpu runs on a real one.
#include "tests/gpu/checks/checks.h"

#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <set>

#include "runtime/cuda/modules.h"
#include "tests/gpu/checks/device_block.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/support/support.h"

namespace kb::checks_test {

using namespace kb::test;
using boost::unit_test::data::make;

namespace {

void on_the_fake(const GpuCheck& check, const FakeOptions& options = {}, bool watched = false) {
  FakeNccl nccl;
  FakeTestGpu gpu(options, watched, &nccl);
  run_check(check, gpu);
  BOOST_TEST(gpu.gpu.live_allocations() == 0);
  BOOST_TEST(nccl.faults().empty());
}

// The classes of kernels that a launch differs for: one phase; a last block and its counter; results by index; numbers
// of a step. tests/simt emulates every class, so the others run here where they are asked for:
//   build/bin/tests_cuda --run_test=cuda_kernels -- --all
const std::set<std::string> kLaunched = {"pointwise", "reductions", "indexed", "random_numbers"};

}  // namespace

// The emulator checks every access. The programs are those of tests/simt, so they come out of the kernel cache.
BOOST_AUTO_TEST_SUITE(cuda_kernels)
BOOST_DATA_TEST_CASE(of_class, make(kernel_checks()), check) {
  if (kLaunched.contains(check.name) || was_asked("--all")) return on_the_fake(check, {}, true);
  BOOST_TEST_MESSAGE("SKIPPED: tests/simt emulates this class; -- --all runs it here, too");
}
BOOST_AUTO_TEST_CASE(of_classes_that_are_there) {
  for (const std::string& name : kLaunched)
    BOOST_TEST(std::ranges::count(kernel_checks(), name, &GpuCheck::name) == 1, name);
}
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_library)
BOOST_DATA_TEST_CASE(of_op, make(library_checks()), check) { on_the_fake(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_sessions)
BOOST_DATA_TEST_CASE(lazy, make(session_checks()), check) { on_the_fake(check); }
// The longest step takes more than a minute, whose times f32 gives to some microseconds, and the clock is as coarse as
// the driver's.
BOOST_AUTO_TEST_CASE(clocks_may_be_coarse) {
  const std::vector<GpuCheck> all = session_checks();
  const auto profiled =
      std::find_if(all.begin(), all.end(), [](const GpuCheck& check) { return check.name == "profiled_steps_count"; });
  BOOST_REQUIRE((profiled != all.end()));
  for (const double milliseconds : {0.00123, 0.0777, 3001.7})
    on_the_fake(*profiled, {.operation_ms = milliseconds, .resolution_ms = 5e-4});
}
BOOST_DATA_TEST_CASE(at_once, make(session_checks()), check) { on_the_fake(check, {.lazy = false}); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_recipes)
BOOST_DATA_TEST_CASE(recipes, make(recipe_checks()), check) { on_the_fake(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_sums)
BOOST_DATA_TEST_CASE(over_nccl, make(collective_checks()), check) { on_the_fake(check); }
BOOST_AUTO_TEST_SUITE_END()

// Whole steps run with every access of every kernel watched, in the memory that the planner gave it.
BOOST_AUTO_TEST_SUITE(cuda_watched)
BOOST_AUTO_TEST_CASE(steps_of_a_small_net) { on_the_fake(session_checks().at(0), {}, true); }
BOOST_AUTO_TEST_CASE(lenet_mnist) { on_the_fake(recipe_checks().at(0), {}, true); }
BOOST_AUTO_TEST_CASE(resnet_cifar_8) { on_the_fake(recipe_checks().at(1), {}, true); }

// All threads write one element.
BOOST_AUTO_TEST_CASE(a_planted_race_is_seen) {
  if (simt::default_instrument() == simt::Instrument::sanitizers) {
    BOOST_TEST_MESSAGE("SKIPPED: a sanitized build watches bounds, not races");
    return;
  }
  const KernelBatch batch{"",
                          {{"k_race",
                            "extern \"C\" __global__ void __launch_bounds__(64) k_race(float* b0) {\n"
                            "  b0[0] = (float)threadIdx.x;\n}\n"}},
                          ""};
  for (const bool watched : {true, false}) {
    FakeTestGpu gpu({}, watched);
    const OpenGpu open(gpu);
    const std::unique_ptr<cuda::Compiler> compiler = gpu.factories({}).compiler(open.device);
    LoadReport report;
    const cuda::Modules modules(open.device, *compiler, batch, report);
    DeviceBlock block(open.device, 4);
    void *at = block.data(), *parameters[] = {&at, nullptr};
    open.device.driver(open.device.driver.launch, modules.kernel("k_race"), 1u, 1u, 1u, 64u, 1u, 1u, 0u,
                       open.device.compute, parameters, static_cast<void**>(nullptr));
    if (watched)
      BOOST_CHECK_THROW(open.device.wait(), simt::Fault);
    else
      BOOST_CHECK_NO_THROW(open.device.wait());
  }
}
BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::checks_test
