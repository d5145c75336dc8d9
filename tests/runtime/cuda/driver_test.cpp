#include "runtime/cuda/driver.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/support/support.h"

namespace kb::cuda::driver_test {

using namespace kb::cuda;

BOOST_AUTO_TEST_SUITE(cuda_driver)

BOOST_AUTO_TEST_CASE(a_missing_library_is_named) {
  Driver driver;
  std::string why;
  BOOST_TEST(!open_table(driver, "libcuda_that_is_not_there.so.1", why));
  BOOST_TEST(test::contains(why, "libcuda_that_is_not_there.so.1"));
  BOOST_TEST(driver.init.function == nullptr);
}

// libm stands for a library that is no driver.
BOOST_AUTO_TEST_CASE(a_missing_function_is_named) {
  Driver driver;
  std::string why;
  BOOST_TEST(!open_table(driver, "libm.so.6", why));
  BOOST_TEST(why == "libm.so.6 has no cuGetErrorName");
}

BOOST_AUTO_TEST_CASE(every_call_is_in_the_table_once) {
  Driver driver;
  std::set<std::string> symbols;
  for (const Driver::Slot& slot : driver.slots) {
    BOOST_TEST(std::string(slot.symbol).starts_with("cu"));
    BOOST_TEST(symbols.insert(slot.symbol).second);
  }
  // A Driver consists of its functions and the table that lists them, so that no function is missing in the list.
  BOOST_TEST(driver.slots.size() * sizeof driver.init + sizeof(FunctionTable) == sizeof driver);
}

BOOST_AUTO_TEST_CASE(a_failed_call_is_named_with_its_error) {
  Driver driver;
  driver.get_error_name.function = [](Result, const char** name) { return *name = "CUDA_ERROR_OUT_OF_MEMORY", 0; };
  driver.get_error_string.function = [](Result, const char** text) { return *text = "out of memory", 0; };
  driver.memory_free.function = [](Address address) { return address == 1 ? kSuccess : kOutOfMemory; };
  driver(driver.memory_free, Address{1});
  BOOST_CHECK_EXCEPTION(driver(driver.memory_free, Address{2}), CallError, [](const CallError& error) {
    return error.result() == kOutOfMemory &&
           std::string(error.what()) == "cuMemFree_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::cuda::driver_test
