#include "tests/runtime/allocations.h"

#include <boost/test/unit_test.hpp>
#include <memory>

BOOST_AUTO_TEST_SUITE(allocations)

BOOST_AUTO_TEST_CASE(every_new_is_counted_once) {
  const int64_t before = kb::test::allocations_of_ours();
  { auto one = std::make_unique<int>(1); }
  BOOST_TEST(kb::test::allocations_of_ours() == before + 1);
  struct alignas(128) Wide {
    char bytes[128];
  };
  { auto wide = std::make_unique<Wide>(); }
  BOOST_TEST(kb::test::allocations_of_ours() == before + 2);
}

BOOST_AUTO_TEST_SUITE_END()
