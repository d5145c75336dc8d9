#include "tests/runtime/allocations.h"

#include <boost/test/unit_test.hpp>
#include <new>

namespace kb::allocations_test {

BOOST_AUTO_TEST_SUITE(allocations)

BOOST_AUTO_TEST_CASE(every_new_is_counted_once) {
  const int64_t before = kb::test::allocations_of_ours();
  ::operator delete(::operator new(4));  // the compiler may leave out expressions with `new`
  BOOST_TEST(kb::test::allocations_of_ours() == before + 1);
  constexpr std::align_val_t kWide{128};
  ::operator delete(::operator new(128, kWide), kWide);
  BOOST_TEST(kb::test::allocations_of_ours() == before + 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::allocations_test
