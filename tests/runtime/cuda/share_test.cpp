#include "runtime/cuda/share.h"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "graph/error.h"
#include "tests/support/in_process.h"
#include "tests/support/support.h"

namespace kb::share_test {

namespace {

using BusIds = std::vector<std::string>;

// Returns the number of the device that each rank takes, "0" or "1", or its error; all ranks are on this machine.
std::vector<std::string> shared(int ranks, const std::function<BusIds(int rank)>& bus_ids) {
  const auto network = make_in_process_network(ranks);
  std::vector<std::string> taken(static_cast<size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        const auto communicator = make_in_process_communicator(network, rank);
        try {
          taken[static_cast<size_t>(rank)] =
              std::to_string(cuda::share_devices(*communicator, [&] { return bus_ids(rank); }));
        } catch (const Error& error) {
          taken[static_cast<size_t>(rank)] = error.what();
        }
      });
  }
  return taken;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_share)

BOOST_AUTO_TEST_CASE(ranks_of_a_node_take_its_gpus_in_turn) {
  const auto taken = shared(3, [](int) {
    return BusIds{"0000:17:00.0", "0000:65:00.0", "0000:b3:00.0", "0000:ca:00.0"};
  });
  BOOST_TEST(taken == std::vector<std::string>({"0", "1", "2"}));
}

// `srun --gpus-per-task=1` shows each rank one device, whose number is 0.
BOOST_AUTO_TEST_CASE(a_launcher_may_show_each_rank_its_own) {
  const auto taken = shared(2, [](int rank) { return BusIds{rank == 0 ? "0000:17:00.0" : "0000:65:00.0"}; });
  BOOST_TEST(taken == std::vector<std::string>({"0", "0"}));
}

BOOST_AUTO_TEST_CASE(fewer_gpus_than_ranks_are_every_ranks_error) {
  const auto taken = shared(3, [](int) { return BusIds{"0000:17:00.0", "0000:65:00.0"}; });
  for (const std::string& error : taken) {
    BOOST_TEST(error == taken[0]);
    for (const char* part : {"every process needs a GPU of its own\n  expected: 3 GPUs on ", ", which has 3 ranks\n",
                             "got:      2 that rank 2 sees; ranks 0 and 2 would share 0000:17:00.0\n",
                             "hint:     fewer processes a node (--processes, mpirun --map-by ppr:2:node)"})
      BOOST_TEST(test::contains(error, part));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_without_one_is_every_ranks_error) {
  const auto taken = shared(2, [](int rank) -> BusIds {
    if (rank == 1) throw Error("no GPU can be used\n  missing: the CUDA driver");
    return {"0000:17:00.0"};
  });
  BOOST_TEST(taken == std::vector<std::string>(2, "rank 1: no GPU can be used\n  missing: the CUDA driver"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::share_test
