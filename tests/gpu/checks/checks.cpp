#include "tests/gpu/checks/checks.h"

#include <boost/test/unit_test.hpp>

namespace kb::test {

void run_check(const GpuCheck& check, TestGpu& gpu) {
  const int64_t before = gpu.calls.*check.proof;
  check.run(gpu);
  const int64_t after = gpu.calls.*check.proof;
  BOOST_TEST(after > before, "the device had no part in this");
}

}  // namespace kb::test
