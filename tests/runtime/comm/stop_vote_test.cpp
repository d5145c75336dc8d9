#include "runtime/comm/stop_vote.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <thread>

#include "runtime/comm/beat_relay.h"
#include "tests/runtime/comm/apart.h"
#include "tests/support/in_process.h"

namespace kb::stop_vote_test {
namespace {

// A process that is alone on its machine. It hears of others when exchange() is called.
struct Process {
  Process(const std::shared_ptr<InProcessNetwork>& network, int rank)
      : communicator(make_in_process_communicator(network, rank), 1),
        page(communicator),
        relay(communicator, page, 60),
        vote(page, rank) {
    page[rank].presence = Presence::here;
  }

  test::Apart communicator;
  BeatPage page;
  BeatRelay relay;
  StopVote vote;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stop_votes)

// The first signal may come before anything was heard of another machine, whose process has begun an action already.
BOOST_AUTO_TEST_CASE(the_vote_of_a_process_that_nobody_has_heard_of_is_waited_for) {
  const auto network = make_in_process_network(2);
  std::array<std::unique_ptr<Process>, 2> both;
  {
    std::array<std::jthread, 2> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads[static_cast<size_t>(rank)] =
          std::jthread([&, rank] { both[static_cast<size_t>(rank)] = std::make_unique<Process>(network, rank); });
  }
  Process &asked = *both[0], &other = *both[1];
  BOOST_TEST(other.vote.begin());
  asked.vote.look(SIGTERM);
  std::future<bool> begins = std::async(std::launch::async, [&] { return asked.vote.begin(); });
  while (begins.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    asked.relay.exchange();
    other.relay.exchange();
    other.vote.look(0);
  }
  BOOST_TEST(begins.get());
  BOOST_TEST(!other.vote.begin());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::stop_vote_test
