// Runs of several processes.
#pragma once
#include <fmt/format.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>
#include "data/images/image_set.h"
#include "data/images/pack.h"
#include "runtime/checkpoint.h"
#include "runtime/comm/open.h"
#include "runtime/process.h"
#include "tests/recipes/photos.h"
#include "tests/recipes/small_run.h"
#include "tests/recipes/small_sweep.h"
#include "tests/support/support.h"

namespace kb::processes_test {

namespace fs = std::filesystem;

const std::string kProgram = KB_BIN "/resnet_cifar";

// Returns whether MPI is there. If not, it says so, and the test should end.
inline bool can_share() {
  const bool can = fs::exists(KB_BIN "/libkilobatch_mpi.so") &&
                   RuntimeOptions::from_environment().mpirun.find('/') != std::string::npos;
  if (!can) BOOST_TEST_MESSAGE("SKIPPED: no MPI (apt install libopenmpi-dev openmpi-bin)");
  test::allow_libraries_their_leaks();
  return can;
}

struct Ended {
  int code = 0;
  std::string text;
};

inline Ended run_shell(const std::string& command) {
  test::TemporaryDirectory folder;
  const fs::path file = folder.path() / "output";
  const int status = std::system((command + " > " + file.string() + " 2>&1").c_str());
  std::ifstream in(file);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {std::istreambuf_iterator<char>(in), {}}};
}

// Returns the flags of a run with 16 samples a step, 4 of them a worker's, and with crops and flips; the net has batch
// norm.
inline std::string words(const fs::path& out, int processes, const std::string& more = "--steps 6") {
  return " --depth 8 --dataset synthetic --minibatch 16 --per-worker 4 --augment crop,flip --threads 1 --eval-every 0" +
         std::string(" --processes ") + std::to_string(processes) + " --out " + out.string() + " " + more;
}

inline std::string state_after(const fs::path& out, int processes, const std::string& more = "--steps 6") {
  const Ended ended = run_shell(kProgram + words(out, processes, more));
  BOOST_TEST(ended.code == 0, ended.text);
  return test::state_sha256(out);
}

// Returns the process id of rank `rank` of the run that writes to `out`; 0 if there is none.
inline int find_process(const fs::path& out, int rank) {
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      const std::string environment = test::read_file(entry.path() / "environ");
      const std::string command = test::read_file(entry.path() / "cmdline");
      const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
      if (environment.find(wanted + '\0') != std::string::npos && command.find(out.string()) != std::string::npos)
        return std::stoi(name);
    } catch (const std::runtime_error&) {
      continue;  // it has ended
    }
  }
  return 0;
}

// A small net for tests that only start and kill processes. Two processes sleep in their all-reduces, by --net, so that
// a step lasts long enough for a signal to meet it and takes no processor.
inline const std::string kSmall = KB_BIN "/lenet_mnist";

inline std::string small_words(const fs::path& out, int processes, const std::string& more) {
  return " --dataset synthetic --minibatch 16 --per-worker 4 --threads 1 --eval-every 0 --out " + out.string() + " " +
         more + (processes == 1 ? "" : " --net 10ms,1GB/s --processes " + std::to_string(processes));
}

inline std::string small_state_after(const fs::path& out, const std::string& more) {
  const Ended ended = run_shell(kSmall + small_words(out, 1, more));
  BOOST_TEST(ended.code == 0, ended.text);
  return test::state_sha256(out);
}

// Runs `command`, kills the rank once there are two checkpoints, and checks that the message names it and that the run
// goes on to the state `expected`.
inline void kill_one(const std::string& command, int rank, const fs::path& out, const std::string& expected) {
  auto running = std::async(std::launch::async, [&] { return run_shell(command); });
  while (list_checkpoints(out / "checkpoints").size() < 2) {
    BOOST_REQUIRE((running.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready));
  }
  const int victim = find_process(out, rank);
  BOOST_REQUIRE(victim > 0);
  ::kill(victim, SIGKILL);
  const Ended ended = running.get();
  BOOST_TEST(ended.code != 0);
  const std::string dead =
      "rank " + std::to_string(rank) + " (process " + std::to_string(victim) + ") has died at step ";
  BOOST_TEST(test::contains(ended.text, dead));
  BOOST_TEST(test::contains(ended.text, "go on: ./run lenet_mnist --resume " + out.string()));
  const Ended resumed = run_shell(kSmall + " --resume " + out.string() + " --processes 2");
  BOOST_TEST(resumed.code == 0, resumed.text);
  BOOST_TEST(test::state_sha256(out) == expected);
}

}  // namespace kb::processes_test
