#include "compiler/lower/index.h"

#include <boost/test/unit_test.hpp>

namespace kb::lower_index_test {

BOOST_AUTO_TEST_SUITE(lower_index)

// In 16 block + lane with 0 <= lane < 16 a division by a multiple of 16 does not see the lane: a whole vector lies on
// one side of every multiple of 16.
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
    // The small term counts where the sum may reach the next multiple: 16 block + lane + 8, or 16 block + more than 15.
    BOOST_CHECK(math.div(math.shift(at, 8), 32) != math.div(block, 2));
    BOOST_CHECK(math.div(math.add(math.scale(block, 16), unbounded), 32) != math.div(block, 2));
    BOOST_TEST(math.inside(math.shift(at, -8), 0, 32) != math.inside(block, 0, 2));
  });
}

// A position that is split into indices and flattened again is itself, whichever of its quotients can be simplified:
// the plane 28 * 28 = 784 is a multiple of 16 lanes, a row of 28 is not.
BOOST_AUTO_TEST_CASE(parts_put_together_are_the_whole) {
  const std::vector<int64_t> shapes[] = {
      {128, 1, 28, 28}, {128, 3, 32, 32}, {128, 4, 7, 12}, {2, 16, 5}, {9, 6, 35, 8}};
  for (const std::vector<int64_t>& shape : shapes) {
    ir::Builder b("test", 16);
    IndexMath math(b);
    b.phase([&] {
      const Index vector = math.of(b.tile()), lane = math.of(b.argument(b.add_argument()), 15);
      const Index begin = math.scale(math.of(b.argument(b.add_argument())), 4096);
      for (const Index& at : {math.add(math.scale(vector, 16), lane), math.add(math.add(begin, lane), vector), lane})
        BOOST_CHECK(math.flatten(math.unflatten(at, shape), shape) == at);
    });
  }
}

// The lanes hold channels 8 + lane, and blocks of 16 channels lie 1024 elements apart. Lanes 0 to 7 are then at 8 +
// lane, lanes from 8 on at 1024 + lane - 8.
BOOST_AUTO_TEST_CASE(a_vector_over_the_end_of_a_block_is_two_contiguous_ones) {
  ir::Builder b("test", 16);
  IndexMath math(b);
  b.phase([&] {
    b.lane_loop(ir::kNone, [&](ir::Reg lane) {
      const auto place = [&](int64_t shift, int64_t block) {
        const Index channel = math.shift(math.of(lane, 15), shift);
        return math.place(math.add(math.scale(math.div(channel, block), 1024), math.mod(channel, block)));
      };
      const Place two = place(8, 16);
      BOOST_TEST((two.access == ir::Access::gather));
      BOOST_TEST(b.lane_varying(two.crosses));
      BOOST_TEST((b.type(two.crosses) == DType::boolean));
      BOOST_TEST(two.near == b.index(8));
      BOOST_TEST(two.beyond == b.index(1024 - 8));
      BOOST_TEST(place(8, 5).crosses == ir::kNone);  // the vector spans five blocks
      BOOST_TEST((place(16, 16).access == ir::Access::contiguous));
    });
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::lower_index_test
