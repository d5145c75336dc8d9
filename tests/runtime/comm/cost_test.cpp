#include "runtime/comm/cost.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "tests/runtime/comm/conformance.h"

namespace kb::test {

BOOST_AUTO_TEST_SUITE(all_reduce_cost)

// Of arrays that every piece divides.
BOOST_AUTO_TEST_CASE(bytes_are_those_of_the_rank_that_sends_most) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    constexpr int64_t kElements = 1 << 10;
    int64_t most = 0;
    for (int rank = 0; rank < ranks; ++rank)
      most = std::max(most, expected_traffic(Algorithm::halving_doubling, kElements, 4, rank, ranks).bytes_sent);
    BOOST_TEST(halving_doubling_bytes(4 * kElements, ranks) == static_cast<double>(most));
  }
}

// The cost models of the literature, in numbers: 32 ranks, 50 Gbit/s, 50 us a message.
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

}  // namespace kb::test
