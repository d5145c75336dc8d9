#include "runtime/comm/cost.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "tests/runtime/comm/conformance.h"

namespace kb::test::cost_test {

BOOST_AUTO_TEST_SUITE(all_reduce_cost)

// Three ranks, by hand: 0 and 1 exchange halves, while 2 sends a half to each of them, so that 1 waits for its half.
// Then both give their half of the sum to 2, one after the other, and exchange their halves.
BOOST_AUTO_TEST_CASE(three_ranks_by_hand) {
  BOOST_TEST(halving_doubling_seconds(1000, 3, {0, 1}) == 2000);
  BOOST_TEST(halving_doubling_seconds(1000, 3, {1, 1}) == 2003);
}

// The network carries a byte a second, so the seconds are at least the bytes that the busiest rank sends.
BOOST_AUTO_TEST_CASE(other_counts_take_longer_than_powers_of_two) {
  constexpr int64_t kElements = 1 << 10;
  for (const int ranks : {3, 5, 6, 7, 9, 12, 15, 100}) {
    int64_t most = 0;
    for (int rank = 0; rank < ranks; ++rank)
      most = std::max(most, expected_traffic(Algorithm::halving_doubling, kElements, 4, rank, ranks).bytes_sent);
    const double seconds = halving_doubling_seconds(4 * kElements, ranks, {0, 1});
    BOOST_TEST_INFO(ranks << " ranks");
    BOOST_TEST(seconds >= static_cast<double>(most));
    BOOST_TEST(seconds >= 2.0 * 4 * kElements);
    BOOST_TEST(seconds < 4.0 * 4 * kElements);
  }
}

// The expected seconds are 2 log2(p) latencies and the time of 2n(p - 1)/p bytes (Goyal et al. 2017, section 4), with p
// = 32 ranks, 50 Gbit/s and 50 us.
BOOST_AUTO_TEST_CASE(seconds_of_32_ranks) {
  const Network network{50e-6, 6.25e9};
  BOOST_TEST(halving_doubling_seconds(100'000'000, 32, network) == 31.5e-3, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(halving_doubling_seconds(1'000'000, 32, network) == 0.81e-3, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(one_rank_and_no_bytes) {
  BOOST_TEST(halving_doubling_seconds(1 << 20, 1, {1, 1}) == 0);
  BOOST_TEST(halving_doubling_seconds(1 << 20, 1, {0, std::numeric_limits<double>::infinity()}) == 0);
  BOOST_TEST(halving_doubling_seconds(0, 4, {0.5, 1}) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::test::cost_test
