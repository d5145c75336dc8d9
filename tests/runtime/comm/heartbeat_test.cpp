#include "runtime/comm/heartbeat.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <future>
#include <iterator>
#include <thread>

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/error.h"
#include "runtime/comm/beat_page.h"
#include "tests/runtime/comm/apart.h"
#include "tests/support/in_process.h"
#include "tests/support/support.h"

namespace kb::heartbeat_test {
namespace {

using test::Apart;

// A process that does nothing until it is killed, at the latest by the end of the test.
class Idle {
 public:
  Idle() : process_(::fork()) {
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
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

// The port on which rank 0 listens, and the secret that proves that a process belongs to the run.
struct Hub {
  uint64_t secret = 0;
  unsigned port = 0;
};
// A function that is called in every process when it knows the hub, and again, with null, when it has connected to it.
using Spy = std::function<void(int rank, const Hub* hub)>;

// A communicator that puts each rank on a machine of its own, and tells a spy about the hub.
class Watched : public Apart {
 public:
  Watched(std::unique_ptr<Communicator> under, Spy spy) : Apart(std::move(under), 1), spy_(std::move(spy)) {}
  std::vector<std::string> all_gather(const std::string& bytes) override {
    if (spy_ && knows_hub_) spy_(rank(), nullptr);
    std::vector<std::string> gathered = Apart::all_gather(bytes);
    Hub hub;
    if (spy_ && !knows_hub_ && std::sscanf(gathered[0].c_str(), "%lu %u %*d.", &hub.secret, &hub.port) == 2) {
      knows_hub_ = true;
      spy_(rank(), &hub);
    }
    return gathered;
  }

 private:
  Spy spy_;
  bool knows_hub_ = false;
};

// Ranks as threads of this process, each with a heartbeat that watches an idle child in its place, and the faults that
// they find.
struct Ranks {
  explicit Ranks(double patience, int count = 2, bool apart = false, Spy spy = {})
      : network(make_in_process_network(count)),
        communicators(static_cast<size_t>(count)),
        faults(static_cast<size_t>(count)),
        idle(static_cast<size_t>(count)),
        asked(static_cast<size_t>(count)),
        beats(static_cast<size_t>(count)) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < count; ++rank) threads.emplace_back([=, this] { make(rank, patience, apart, spy); });
  }

  void make(int rank, double patience, bool apart, const Spy& spy) {
    const auto at = static_cast<size_t>(rank);
    communicators[at] = make_in_process_communicator(network, rank);
    if (apart) communicators[at] = std::make_unique<Watched>(std::move(communicators[at]), spy);
    const auto tell = [this, at](const std::string& message) { faults[at].set_value(message); };
    beats[at] = std::make_unique<Heartbeat>(*communicators[at],
                                            HeartbeatOptions{.interval = 0.01,
                                                             .patience = patience,
                                                             .long_patience = 5 * patience,
                                                             .grace = patience,
                                                             .silence = 60,
                                                             .process = idle[at].process(),
                                                             .on_fault = tell,
                                                             .asked = [this, at] { return asked[at].load(); }});
  }

  std::string fault(size_t rank, double seconds = 60) {
    std::future<std::string> found = faults[rank].get_future();
    return found.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready ? found.get() : "none";
  }

  std::shared_ptr<InProcessNetwork> network;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::promise<std::string>> faults;
  std::vector<Idle> idle;
  std::vector<std::atomic<int>> asked;
  std::vector<std::unique_ptr<Heartbeat>> beats;  // they end first: their threads read the others
};

// A stranger's connection to where rank 0 listens, who says `words`.
class Stranger {
 public:
  Stranger(unsigned port, const std::string& words) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    BOOST_REQUIRE(::send(socket_, words.data(), words.size(), MSG_NOSIGNAL) == std::ssize(words));
  }
  ~Stranger() { ::close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

 private:
  int socket_;
};

// Returns the first bytes that a process sends: the run's secret and its rank, as they travel.
std::string hello(uint64_t secret, int32_t rank) {
  struct {
    uint64_t secret;
    int32_t rank, padding;
  } words{secret, rank, 0};
  return {reinterpret_cast<const char*>(&words), sizeof words};
}

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
  Ranks pair(1);  // longer than a busy machine takes a processor away
  pair.beats[0]->at("wait", true);
  for (int i = 0; i < 150; ++i) {
    pair.beats[1]->at("somewhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pair.beats[1].reset();
  BOOST_TEST(pair.fault(0, 0.5) == "none");
}

// A rank that works outside of steps (compilers, files) is waited for five times as long as one in a step.
BOOST_AUTO_TEST_CASE(work_outside_of_steps_is_waited_for) {
  Ranks pair(0.1);
  pair.beats[1]->at_work("checkpoint");
  pair.beats[0]->at("wait", true);
  BOOST_TEST(pair.fault(0) == "rank 1 has not reached wait for 0 s; it stands at checkpoint");
  const std::string dead = std::to_string(pair.idle[0].process());
  pair.idle[0].kill();
  BOOST_TEST(pair.fault(1) == "rank 0 (process " + dead + ") has died at wait; rank 1 stands at checkpoint");
}

// Machines are not equally fast: a rank is waited for at least twice as long as the longest part of a step took on the
// rank that waits.
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
  Ranks ranks(1, 3, true);
  ranks.beats[1].reset();
  ranks.beats[2]->at("wait", true);
  for (int i = 0; i < 150; ++i) {
    ranks.beats[0]->at("somewhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ranks.beats[0].reset();
  BOOST_TEST(ranks.fault(2, 0.4) == "none");
}

// All ranks stop before the same joint step, wherever each of them stands when one of them is asked to stop.
BOOST_AUTO_TEST_CASE(all_stop_in_one_place) {
  for (const bool apart : {false, true})
    for (size_t one = 0; one < 4; ++one) {
      Ranks ranks(60, 4, apart);
      std::vector<int64_t> done(4, 0);
      {
        std::vector<std::jthread> threads;
        for (size_t rank = 0; rank < 4; ++rank)
          threads.emplace_back([&, rank] {
            for (; ranks.beats[rank]->begin(); ++done[rank]) ranks.communicators[rank]->barrier();
          });
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        ranks.asked[one] = SIGTERM;
      }
      for (size_t rank = 0; rank < 4; ++rank) {
        BOOST_TEST(done[rank] == done[0]);
        BOOST_TEST(ranks.beats[rank]->stop_reason() == SIGTERM);
        BOOST_TEST(ranks.beats[rank]->is_over());
      }
    }
}

// A step that no rank has begun is left at once when the run is to stop; a step that one has begun, all ranks do.
BOOST_AUTO_TEST_CASE(what_is_begun_is_done) {
  Ranks ranks(60, 3);
  const auto each = [&](const auto& tell) {
    std::vector<std::future<bool>> all;
    for (const auto& beat : ranks.beats) all.push_back(std::async(std::launch::async, [&] { return tell(*beat); }));
    std::vector<bool> result;
    for (std::future<bool>& one : all) result.push_back(one.get());
    return result;
  };
  const std::vector<bool> all(3, true), none(3, false);
  BOOST_CHECK(each([](Heartbeat& beat) { return beat.is_over(); }) == none);
  BOOST_TEST(ranks.beats[1]->begin());
  ranks.asked[2] = SIGUSR1;
  while (ranks.beats[0]->stop_reason() == 0) std::this_thread::yield();
  BOOST_TEST(!ranks.beats[0]->is_over());
  BOOST_TEST(ranks.beats[0]->begin());
  BOOST_TEST(ranks.beats[2]->begin());
  BOOST_CHECK(each([](Heartbeat& beat) { return beat.is_over(); }) == all);
  BOOST_CHECK(each([](Heartbeat& beat) { return beat.begin(); }) == none);
}

// A stranger that connects and says nothing, or says what no process of the run says, keeps no process out.
BOOST_AUTO_TEST_CASE(strangers_hold_up_nobody) {
  std::vector<std::unique_ptr<Stranger>> strangers;
  std::promise<void> connected;
  Ranks ranks(60, 3, true, [&](int rank, const Hub* hub) {
    if (rank == 2 && hub) connected.get_future().wait();  // strangers come before it
    if (rank != 1 || !hub) return;
    for (const std::string& words : {std::string(), std::string("GET"), hello(hub->secret + 1, 2),
                                     hello(hub->secret, 100000), hello(hub->secret, -3), hello(hub->secret, 0)})
      strangers.push_back(std::make_unique<Stranger>(hub->port, words));
    connected.set_value();
  });
  BOOST_TEST(strangers.size() == 6u);
  for (const auto& beat : ranks.beats) BOOST_TEST(beat->note() == "");
  const std::string dead = std::to_string(ranks.idle[2].process());
  ranks.idle[2].kill();
  BOOST_TEST(ranks.fault(1).starts_with("rank 2 (process " + dead));
}

// A message about ranks that cannot be is taken for the loss of the machine that sent it. Rank 2 connects last, so that
// rank 0 still listens when the stranger connects as rank 1.
BOOST_AUTO_TEST_CASE(a_message_of_ranks_that_are_not_there_is_refused) {
  // The number of beats, whether it is the last message, and the rank of the first beat, of which 0 is rank 0 itself.
  for (const std::array<int32_t, 3>& begin :
       {std::array<int32_t, 3>{-5, 0, 1}, {1 << 30, 0, 1}, {1, 0, 3}, {1, 0, -2}, {1, 0, 0}}) {
    std::unique_ptr<Stranger> stranger;
    std::promise<void> connected;
    const std::string head(reinterpret_cast<const char*>(begin.data()), sizeof begin);
    Ranks ranks(60, 3, true, [&](int rank, const Hub* hub) {
      if (rank == 1 && hub)
        stranger = std::make_unique<Stranger>(hub->port, hello(hub->secret, 1) + head + std::string(4096, '\0'));
      if (rank == 1 && !hub) connected.set_value();
      if (rank == 2 && hub) connected.get_future().wait();
    });
    BOOST_TEST(ranks.fault(0).starts_with("rank 1 (process "));
  }
}

namespace {

// While it lives, no socket can be made.
struct NoSockets {
  static inline std::atomic<int> error{0};
  explicit NoSockets(int number) { error = number; }
  ~NoSockets() { error = 0; }
};

}  // namespace

// This replaces the C library's function in this program.
extern "C" int socket(int domain, int type, int protocol) noexcept {
  if (NoSockets::error == 0) return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
  errno = NoSockets::error;
  return -1;
}

BOOST_AUTO_TEST_CASE(all_machines_know_why_rank_0_cannot_listen) {
  const NoSockets none(EMFILE);
  const Ranks ranks(60, 2, true);
  for (const auto& beat : ranks.beats) BOOST_TEST(beat->note() == "rank 0 cannot listen: Too many open files");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::heartbeat_test
