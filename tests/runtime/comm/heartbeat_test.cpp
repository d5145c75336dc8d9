#include "runtime/comm/heartbeat.h"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <future>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/comm/apart.h"

namespace kb {
namespace {

using test::Apart;

// A process that does nothing, to be killed.
class Idle {
 public:
  Idle() : process_(::fork()) {
    if (process_ == 0)
      for (;;) ::pause();
  }
  ~Idle() {
    kill();
    ::waitpid(process_, nullptr, 0);
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  pid_t process() const { return process_; }
  void kill() const { ::kill(process_, SIGKILL); }

 private:
  pid_t process_;
};

// Processes in one: what each finds.
struct Ranks {
  explicit Ranks(double patience, int count = 2, bool apart = false)
      : network(make_in_process_network(count)),
        communicators(static_cast<size_t>(count)),
        faults(static_cast<size_t>(count)),
        beats(static_cast<size_t>(count)),
        idle(static_cast<size_t>(count)) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < count; ++rank) threads.emplace_back([=, this] { make(rank, patience, apart); });
  }

  void make(int rank, double patience, bool apart) {
    const auto at = static_cast<size_t>(rank);
    communicators[at] = make_in_process_communicator(network, rank);
    if (apart) communicators[at] = std::make_unique<Apart>(std::move(communicators[at]), 1);
    const auto tell = [this, at](const std::string& message) { faults[at].set_value(message); };
    beats[at] = std::make_unique<Heartbeat>(*communicators[at], HeartbeatOptions{.interval = 0.01,
                                                                                 .patience = patience,
                                                                                 .long_patience = 5 * patience,
                                                                                 .grace = patience,
                                                                                 .process = idle[at].process(),
                                                                                 .on_fault = tell});
  }

  std::string fault(size_t rank, double seconds = 5) {
    std::future<std::string> found = faults[rank].get_future();
    return found.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready ? found.get() : "none";
  }

  std::shared_ptr<InProcessNetwork> network;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::promise<std::string>> faults;
  std::vector<std::unique_ptr<Heartbeat>> beats;
  std::vector<Idle> idle;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(heartbeat)

BOOST_AUTO_TEST_CASE(who_waits_names_who_does_not_come) {
  Ranks pair(0.1);
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
  Ranks pair(0.2);
  pair.beats[0]->at("wait", true);
  for (int i = 0; i < 60; ++i) {
    pair.beats[1]->at("somewhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pair.beats[1].reset();
  BOOST_TEST(pair.fault(0, 0.5) == "none");
}

// Compilers and files have more time.
BOOST_AUTO_TEST_CASE(work_outside_of_steps_is_waited_for) {
  Ranks pair(0.1);
  pair.beats[1]->at_work("checkpoint");
  pair.beats[0]->at("wait", true);
  BOOST_TEST(pair.fault(0) == "rank 1 has not reached wait for 0 s; it stands at checkpoint");
  const std::string dead = std::to_string(pair.idle[0].process());
  pair.idle[0].kill();
  BOOST_TEST(pair.fault(1) == "rank 0 (process " + dead + ") has died at wait; rank 1 stands at checkpoint");
}

// Steps of minutes on machines that are not equally fast.
BOOST_AUTO_TEST_CASE(long_parts_of_a_step_are_waited_for) {
  Ranks pair(0.1);
  pair.beats[0]->at_step(1);
  pair.beats[1]->at_step(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  pair.beats[0]->at("wait", true);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  pair.beats[1]->at("wait", true);
  BOOST_TEST(pair.fault(0, 0.1) == "none");
}

BOOST_AUTO_TEST_CASE(all_that_wait_for_each_other_are_told) {
  Ranks pair(0.1);
  for (const auto& beat : pair.beats) beat->at_step(4);
  for (const auto& beat : pair.beats) beat->at("wait", true);
  BOOST_TEST(pair.fault(1) ==
             "every process has been waiting for others for 0 s: nothing comes through; rank 1 stands at step 4 wait");
}

BOOST_AUTO_TEST_CASE(who_leaves_with_an_error_is_missed) {
  for (const bool apart : {false, true}) {
    Ranks pair(0.2, 2, apart);
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    pair.beats[1]->at_step(5);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    try {
      const std::unique_ptr<Heartbeat> leaving = std::move(pair.beats[1]);
      throw 1;
    } catch (int) {
    }
    BOOST_TEST(pair.fault(0) == "rank 1 (process " + std::to_string(pair.idle[1].process()) +
                                    (apart ? std::string(" on ") + host : "") +
                                    ") has ended with an error at step 5; rank 0 stands at start");
  }
}

BOOST_AUTO_TEST_CASE(machines_hear_of_each_other) {
  Ranks ranks(0.2, 3, true);
  for (const auto& beat : ranks.beats) BOOST_TEST(beat->note() == "");
  ranks.beats[0]->at_step(7);
  ranks.beats[1]->at_step(7);
  ranks.beats[2]->at_step(7);
  ranks.beats[2]->at("wait for all_reduce 1", true);
  ranks.beats[0]->at("wait for all_reduce 1", true);
  const std::string expected = "rank 1 has not reached step 7 wait for all_reduce 1 for 0 s; it stands at step 7";
  BOOST_TEST(ranks.fault(0) == expected);
  BOOST_TEST(ranks.fault(2) == expected);
}

BOOST_AUTO_TEST_CASE(a_death_is_known_on_every_machine) {
  Ranks ranks(60, 3, true);
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  ranks.beats[2]->at_step(3);
  const std::string dead = std::to_string(ranks.idle[2].process());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ranks.idle[2].kill();
  for (const size_t rank : {0, 1})
    BOOST_TEST(ranks.fault(rank) == "rank 2 (process " + dead + " on " + host + ") has died at step 3; rank " +
                                        std::to_string(rank) + " stands at start");
}

BOOST_AUTO_TEST_CASE(who_leaves_another_machine_is_not_missed) {
  Ranks ranks(0.1, 3, true);
  ranks.beats[1].reset();
  ranks.beats[2]->at("wait", true);
  for (int i = 0; i < 30; ++i) {
    ranks.beats[0]->at("somewhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ranks.beats[0].reset();
  BOOST_TEST(ranks.fault(2, 0.4) == "none");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
