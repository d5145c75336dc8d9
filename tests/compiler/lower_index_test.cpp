#include "compiler/lower_index.h"

#include <boost/test/unit_test.hpp>

namespace kb {

BOOST_AUTO_TEST_SUITE(lower_index)

// 16 block + lane with 0 <= lane < 16: whole vectors lie on one side of every multiple of 16.
BOOST_AUTO_TEST_CASE(small_terms_do_not_reach_the_next_multiple) {
  ir::Builder b("test", 16);
  IndexMath math(b);
  b.phase([&] {
    const Index block = math.of(b.tile()), unbounded = math.of(b.argument(b.add_argument()));
    const Index lane = math.of(b.argument(b.add_argument()), 15);
    const Index at = math.add(math.scale(block, 16), lane);
    BOOST_CHECK(math.div(at, 16) == block);
    BOOST_CHECK(math.mod(at, 16) == lane);
    BOOST_CHECK(math.div(at, 48) == math.div(block, 3));
    BOOST_CHECK(math.mod(at, 48) == math.add(math.scale(math.mod(block, 3), 16), lane));
    BOOST_CHECK(math.div(math.shift(at, 64), 32) == math.div(math.shift(block, 4), 2));
    BOOST_TEST(math.inside(at, 0, 32) == b.less(math.emit(block), b.index(2)));
    BOOST_TEST(math.inside(math.shift(at, -16), 0, 32) == math.inside(math.shift(block, -1), 0, 2));
    // Not where the sum may reach it: 16 block + lane + 8, 16 block + more than 15.
    BOOST_CHECK(math.div(math.shift(at, 8), 32) != math.div(block, 2));
    BOOST_CHECK(math.div(math.add(math.scale(block, 16), unbounded), 32) != math.div(block, 2));
    BOOST_TEST(math.inside(math.shift(at, -8), 0, 32) != math.inside(block, 0, 2));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
