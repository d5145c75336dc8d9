#include "runtime/comm/cluster.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"

namespace kb::cluster_test {
namespace {

constexpr Network kEthernet{50e-6, 50e9 / 8};  // seconds; bytes a second: 50 Gbit/s (Goyal et al. 2017, Big Basin)
constexpr int64_t kGradient = 100'000'000;

double milliseconds(Algorithm algorithm, int64_t bytes, int ranks) {
  return 1e3 * all_reduce_seconds(algorithm, bytes, ranks, kEthernet);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cluster)

// On 32 servers, with 50 Gbit/s and a latency of 50 us, 100 MB take 34.1 ms by a ring and 31.5 ms by halving and
// doubling; 1 MB takes 3.41 ms and 0.81 ms.
BOOST_AUTO_TEST_CASE(formulas_at_32_servers) {
  BOOST_TEST(milliseconds(Algorithm::ring, kGradient, 32) == 34.1, boost::test_tools::tolerance(2e-3));
  BOOST_TEST(milliseconds(Algorithm::halving_doubling, kGradient, 32) == 31.5, boost::test_tools::tolerance(2e-3));
  BOOST_TEST(milliseconds(Algorithm::ring, 1'000'000, 32) == 3.41, boost::test_tools::tolerance(2e-3));
  BOOST_TEST(milliseconds(Algorithm::halving_doubling, 1'000'000, 32) == 0.81, boost::test_tools::tolerance(2e-3));
}

BOOST_AUTO_TEST_CASE(a_node_sums_before_nodes_do) {
  const Cluster cluster{8, {10e-6, 20e9}, kEthernet};
  const double inside = 2 * (7 * 10e-6 + 1e8 / 20e9);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling}) {
    BOOST_TEST(all_reduce_seconds(algorithm, kGradient, 256, cluster) ==
                   inside + all_reduce_seconds(algorithm, kGradient, 32, kEthernet),
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(all_reduce_seconds(algorithm, kGradient, 255, cluster) ==
               all_reduce_seconds(algorithm, kGradient, 256, cluster));  // the last node may have fewer workers
    for (const int workers : {4, 8})
      BOOST_TEST(all_reduce_seconds(algorithm, kGradient, workers, cluster) ==
                 all_reduce_seconds(algorithm, kGradient, workers, cluster.inside));
    BOOST_TEST(all_reduce_seconds(algorithm, kGradient, 1, cluster) == 0);
    BOOST_TEST(all_reduce_seconds(algorithm, kGradient, 16, Cluster{1, {}, kEthernet}) ==
               all_reduce_seconds(algorithm, kGradient, 16, kEthernet));
  }
  BOOST_CHECK_THROW(all_reduce_seconds(Algorithm::mpi, kGradient, 2, kEthernet), Error);
}

// Workers of a node that have the same terms send nothing before the nodes do, and the sum comes down one chain.
BOOST_AUTO_TEST_CASE(nodes_of_equal_workers_sum_without_a_chain_before) {
  const Cluster cluster{8, {10e-6, 20e9}, kEthernet};
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling}) {
    BOOST_TEST(node_all_reduce_seconds(algorithm, kGradient, 256, cluster) ==
                   7 * 10e-6 + 1e8 / 20e9 + all_reduce_seconds(algorithm, kGradient, 32, kEthernet),
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(node_all_reduce_seconds(algorithm, kGradient, 8, cluster) == 0);
    BOOST_TEST(all_reduce_bytes(algorithm, kGradient, 256, cluster).between == 2e8 * 31 / 32,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(all_reduce_bytes(algorithm, kGradient, 256, cluster).inside == 1e8);
    BOOST_TEST(all_reduce_bytes(algorithm, kGradient, 8, cluster).inside == 2e8 * 7 / 8,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(all_reduce_bytes(algorithm, kGradient, 256, Cluster{1, {}, kEthernet}).inside == 0);
    BOOST_TEST(all_reduce_bytes(algorithm, kGradient, 1, cluster).inside == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::cluster_test
