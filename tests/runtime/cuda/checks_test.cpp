// What tests/gpu checks on a GPU, on the fake one.
#include "tests/gpu/checks/checks.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/runtime/cuda/fake_backend.h"

using namespace kb::test;
using boost::unit_test::data::make;

namespace {

void on_the_fake(const GpuCheck& check, const FakeOptions& options = {}, bool watched = false) {
  FakeTestGpu gpu(options, watched);
  run_check(check, gpu);
  BOOST_TEST(gpu.gpu.live_allocations() == 0);
}

}  // namespace

// With the emulator's checks of every access: the same programs as those of tests/simt, out of the cache.
BOOST_AUTO_TEST_SUITE(cuda_kernels)
BOOST_DATA_TEST_CASE(of_class, make(kernel_checks()), check) { on_the_fake(check, {}, true); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_library)
BOOST_DATA_TEST_CASE(of_op, make(library_checks()), check) { on_the_fake(check); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_sessions)
BOOST_DATA_TEST_CASE(lazy, make(session_checks()), check) { on_the_fake(check); }
BOOST_DATA_TEST_CASE(at_once, make(session_checks()), check) { on_the_fake(check, {.lazy = false}); }
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_recipes)
BOOST_DATA_TEST_CASE(recipes, make(recipe_checks()), check) { on_the_fake(check); }
BOOST_AUTO_TEST_SUITE_END()
