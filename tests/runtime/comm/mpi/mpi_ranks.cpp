// mpirun starts this program, which checks what every communicator must do on the rank of this process. `mpi_ranks
// conform` runs these checks, and `mpi_ranks throttle` some of them on a throttled network. In the other modes rank 1
// hangs (`stop`) or is killed (`kill`) between reductions; the first rank of another machine is killed (`leader`); a
// rank never comes, and the others begin to wait at different times (`late`); all ranks are suspended for a while
// (`suspend`); a rank is suspended while it waits (`one_stopped`); or the ranks seem to be on the machines 0 and 1 that
// digits name (`node 0110`).
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <string_view>
#include <thread>

#include "graph/error.h"
#include "runtime/comm/heartbeat.h"
#include "runtime/comm/open.h"
#include "tests/runtime/comm/apart.h"
#include "tests/runtime/comm/conformance.h"

namespace {

using namespace kb;
using namespace kb::test;

std::string counts(Communicator& communicator) {
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::ring, Algorithm::mpi}) {
    communicator.choose(algorithm);
    for (const int64_t elements : {0, 1, 1009, 5040}) {
      Bytes data(static_cast<size_t>(elements) * 4);
      const Traffic before = communicator.traffic();
      communicator.wait(communicator.all_reduce(data.data(), elements, DType::f32));
      const Traffic now = communicator.traffic();
      const Traffic got{now.steps - before.steps, now.bytes_sent - before.bytes_sent,
                        now.bytes_received - before.bytes_received};
      if (got != expected_traffic(algorithm, elements, 4, communicator.rank(), communicator.size()))
        return fmt::format("{}, rank {}: steps or bytes of {} elements differ from the formula",
                           communicator.description(), communicator.rank(), elements);
    }
  }
  return "";
}

// Rank 0 waits half a second for the others, and may use at most 0.1 s of processor time meanwhile, that of the
// library's own threads included.
std::string waits_asleep(Communicator& communicator) {
  communicator.choose(Algorithm::halving_doubling);
  Bytes data(4000000);
  communicator.barrier();
  if (communicator.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::clock_t before = std::clock();
  communicator.wait(communicator.all_reduce(data.data(), 1000000, DType::f32));
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  if (communicator.rank() == 0) fmt::print("{:.1f} ms of a core in 500 ms\n", 1e3 * busy);
  if (communicator.rank() != 0 || busy < 0.1) return "";
  return fmt::format("rank 0: {:.0f} ms of a core for waiting 500 ms", 1e3 * busy);
}

std::string conform(const Launcher& launcher, bool throttle) {
  const Network network{.latency = 50e-6, .bandwidth = 1e9};
  const auto communicator = open_communicator({.throttle = throttle ? &network : nullptr}, launcher);
  if (communicator->size() != launcher.processes) return "not as many ranks as mpirun has started";
  const Placement placement = communicator->placement();
  if (placement.nodes != 1 || placement.local_rank != communicator->rank() ||
      placement.local_size != communicator->size())
    return "the ranks are not placed on one node";
  const int64_t large = launcher.processes == 2 ? 300007 : 50021;  // elements: more than a window of chunks, or less
  std::string wrong;
  for (const Algorithm algorithm :
       {Algorithm::halving_doubling, Algorithm::ring, Algorithm::mpi, Algorithm::mpi_blocking}) {
    if (throttle && algorithm != Algorithm::halving_doubling) break;
    if (wrong.empty()) wrong = conforms(*communicator, algorithm, large);
  }
  if (wrong.empty() && !throttle) wrong = counts(*communicator);
  if (wrong.empty() && !throttle) wrong = waits_asleep(*communicator);
  if (communicator->rank() == 0) fmt::print("{}\n", communicator->description());
  communicator->barrier();
  return wrong;
}

void lose_a_rank(const Launcher& launcher, int signal) {
  const auto communicator = open_communicator({.timeout = 2}, launcher);
  Bytes data(400000);
  for (int step = 0;; ++step) {
    if (step == 3 && communicator->rank() == 1) raise(signal);
    communicator->wait(communicator->all_reduce(data.data(), 100000, DType::f32));
  }
}

// Kills rank 2, the first rank of its machine. With 4 ranks, one is left on that machine and sees the death; with 3,
// the others only cease to hear from rank 2.
void lose_a_leader(const Launcher& launcher) {
  std::signal(SIGTERM, SIG_IGN);  // mpirun sends it at a rank's death; a training loop does not end by it either
  Apart communicator(open_communicator({}, launcher), launcher.processes / 2);
  Heartbeat heartbeat(communicator);
  if (!heartbeat.note().empty()) throw Error(heartbeat.note());
  heartbeat.at_step(11);
  communicator.barrier();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  if (communicator.rank() == 2) raise(SIGKILL);
  std::this_thread::sleep_for(std::chrono::seconds(20));
}

// Rank 1 never comes. Rank 2 reports it, because rank 0 began to wait later and has not waited long enough.
void wait_for_rank_1(const Launcher& launcher) {
  const auto communicator = open_communicator({}, launcher);
  Heartbeat heartbeat(*communicator, {.patience = 1});
  heartbeat.at_step(5);
  communicator->barrier();
  if (communicator->rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(450));
  if (communicator->rank() != 1) heartbeat.at("wait for all_reduce 2", true);
  std::this_thread::sleep_for(std::chrono::seconds(20));
}

// Stops this process three seconds after its start, and lets it go on seven seconds later.
void suspend_soon() {
  const pid_t process = ::getpid();
  if (::fork() != 0) return;
  ::sleep(3);
  ::kill(process, SIGSTOP);
  ::sleep(7);
  ::kill(process, SIGCONT);
  ::_exit(0);
}

// Rank 0 waits before, during and after the suspension; rank 1 works for longer than the suspension lasts.
void suspend_all(const Launcher& launcher) {
  const auto start = std::chrono::steady_clock::now();
  suspend_soon();
  const auto communicator = open_communicator({}, launcher);
  Heartbeat heartbeat(*communicator, {.patience = 5, .silence = 5});
  heartbeat.at_step(5);
  communicator->barrier();
  std::this_thread::sleep_until(start + std::chrono::seconds(2));
  if (communicator->rank() == 0) heartbeat.at("wait for all_reduce 2", true);
  std::this_thread::sleep_until(start + std::chrono::milliseconds(11500));
  communicator->barrier();
  if (communicator->rank() == 0) fmt::print("nobody was missed\n");
}

// Rank 1 is stopped while it waits for rank 2, as all other ranks do.
void stop_rank_1(const Launcher& launcher) {
  const auto communicator = open_communicator({}, launcher);
  Heartbeat heartbeat(*communicator, {.silence = 1});
  heartbeat.at_step(5);
  communicator->barrier();
  if (communicator->rank() != 2) heartbeat.at("wait for all_reduce 2", true);
  if (communicator->rank() == 1) raise(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(20));
}

// Ranks that the launcher dealt out to machines in turn get new numbers, so that the ranks of a machine follow each
// other.
std::string number_by_node(const Launcher& launcher, int node) {
  const auto communicator = open_communicator({.node = node}, launcher);
  const Placement placement = communicator->placement();
  std::string nodes, first;
  for (const std::string& one : communicator->all_gather(std::to_string(node))) nodes += one;
  for (const std::string& one : communicator->all_gather(std::to_string(placement.leader))) first += one;
  if (communicator->rank() == 0)
    fmt::print("machines {}, their first ranks {}, {}\n", nodes, first, communicator->description());
  const bool placed = placement.leader + placement.local_rank == communicator->rank() && placement.nodes == 2;
  const std::string wrong = placed ? conforms(*communicator, Algorithm::halving_doubling, 1009) : "a rank's place";
  communicator->barrier();
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const Launcher launcher = RuntimeOptions::from_environment().launcher;
  try {
    std::string wrong;
    if (mode == "stop")
      lose_a_rank(launcher, SIGSTOP);
    else if (mode == "kill")
      lose_a_rank(launcher, SIGKILL);
    else if (mode == "leader")
      lose_a_leader(launcher);
    else if (mode == "late")
      wait_for_rank_1(launcher);
    else if (mode == "suspend")
      suspend_all(launcher);
    else if (mode == "one_stopped")
      stop_rank_1(launcher);
    else if (mode == "node")
      wrong = number_by_node(launcher, argv[2][std::atoi(std::getenv("OMPI_COMM_WORLD_RANK"))] - '0');
    else
      wrong = conform(launcher, mode == "throttle");
    if (wrong.empty()) return 0;
    fmt::print(stderr, "{}\n", wrong);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
  }
  return 1;
}
