#include "runtime/comm/heartbeat.h"

#include <boost/test/unit_test.hpp>

#include <future>
#include <thread>

namespace kb {
namespace {

// Two processes in one: what each finds.
struct Pair {
  explicit Pair(double patience) : network(make_in_process_network(2)) {
    std::jthread other([&] { make(1, patience); });
    make(0, patience);
  }

  void make(int rank, double patience) {
    const auto at = static_cast<size_t>(rank);
    communicators[at] = make_in_process_communicator(network, rank);
    const auto tell = [this, at](const std::string& message) { faults[at].set_value(message); };
    beats[at] = std::make_unique<Heartbeat>(*communicators[at], HeartbeatOptions{0.01, patience, tell});
  }

  std::string fault(size_t rank, double seconds = 5) {
    std::future<std::string> found = faults[rank].get_future();
    return found.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready ? found.get() : "none";
  }

  std::shared_ptr<InProcessNetwork> network;
  std::unique_ptr<Communicator> communicators[2];
  std::promise<std::string> faults[2];
  std::unique_ptr<Heartbeat> beats[2];
};

}  // namespace

BOOST_AUTO_TEST_SUITE(heartbeat)

BOOST_AUTO_TEST_CASE(who_waits_names_who_does_not_come) {
  Pair pair(0.1);
  pair.beats[1]->at_step(117);
  pair.beats[1]->at("all_reduce 3 layer2.0");
  pair.beats[0]->at_step(118);
  pair.beats[0]->set_hint("go on");
  pair.beats[0]->at("wait for all_reduce 4 layer3.1", true);
  BOOST_TEST(
      pair.fault(0) ==
      "rank 1 has not reached step 118 wait for all_reduce 4 layer3.1 for 0 s; it stands at step 117 all_reduce 3 "
      "layer2.0\n  hint:     go on");
  BOOST_TEST(pair.fault(1, 0.2) == "none");
}

BOOST_AUTO_TEST_CASE(who_goes_on_is_not_missed) {
  Pair pair(0.2);
  pair.beats[0]->at("wait", true);
  for (int i = 0; i < 60; ++i) {
    pair.beats[1]->at("somewhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pair.beats[1].reset();
  BOOST_TEST(pair.fault(0, 0.5) == "none");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
