// Runs of several processes of which one is killed, stopped by a signal, or late.
#include "tests/recipes/run/process_runs.h"

#include <boost/test/unit_test.hpp>

namespace kb::processes_test {

BOOST_AUTO_TEST_SUITE(process_faults)

BOOST_AUTO_TEST_CASE(a_killed_process_is_named_and_nothing_is_lost) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const std::string more = "--save-every 1 --steps 40";
  const std::string expected = small_state_after(folder / "whole", more);
  for (const int rank : {0, 1}) {
    const fs::path out = folder / ("own" + std::to_string(rank));
    kill_one(kSmall + small_words(out, 2, more), rank, out, expected);
  }
  std::string launched;
  for (const std::string& word : mpirun_command(RuntimeOptions::from_environment().mpirun, 2, {}))
    launched += word + " ";
  kill_one(launched + kSmall + small_words(folder / "mpirun", 1, more + " --net 10ms,1GB/s"), 1, folder / "mpirun",
           expected);
}

// Returns the step of the newest checkpoint; -1 if there is none.
int64_t saved_step(const fs::path& out) {
  const std::vector<fs::path> files = list_checkpoints(out / "checkpoints");
  return files.empty() ? -1 : std::stoll(files[0].stem().string().substr(5));
}

std::set<std::string> listening_sockets() {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(test::read_file(table));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
      if (all.size() > 9 && all[3] == "0A") inodes.insert("socket:[" + all[9] + "]");
    }
  }
  return inodes;
}

bool listens(int process) {
  const std::set<std::string> inodes = listening_sockets();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", error))
    if (inodes.contains(fs::read_symlink(entry.path(), error).string())) return true;
  return false;
}

void wait_for(Process& process, const std::function<bool()>& condition) {
  while (!condition()) {
    if (!process.runs()) BOOST_FAIL(process.wait().output);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

struct Stopped {
  fs::path out;
  std::vector<std::string> command;

  // Sends the signal once a further step is saved: to the program that started the run (`rank` -1), to rank 0 or 1, or
  // to mpirun (2). Returns the exit code.
  int stop(int number, int rank) {
    const int64_t before = saved_step(out);
    Process process(command);
    wait_for(process, [&] { return saved_step(out) > before; });
    const int first = find_process(out, 0), second = find_process(out, 1);
    BOOST_REQUIRE((first > 0 && second > 0));
    BOOST_TEST(!listens(first));
    BOOST_TEST(!listens(second));
    if (rank < 0)
      process.signal(number);
    else
      ::kill(rank == 0 ? first : rank == 1 ? second : ::getsid(first), number);
    const ProcessResult result = process.wait();
    while (find_process(out, 0) > 0 || find_process(out, 1) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return result.status;
  }
};

// A signal to one process stops all with a checkpoint; the same command goes on from it each time.
BOOST_AUTO_TEST_CASE(a_signal_to_one_stops_all_with_a_checkpoint) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const std::string more = "--steps 100 --save-every 1 --keep 1";
  const std::string expected = small_state_after(folder / "whole", more);
  Stopped run{folder / "run", {kSmall}};
  std::istringstream again(small_words(run.out, 2, more) + " --resume auto");
  run.command.insert(run.command.end(), std::istream_iterator<std::string>(again), {});
  constexpr int kLauncher = -1, kMpirun = 2;
  const auto sends = [&](int number, int to) {
    BOOST_TEST(run.stop(number, to) == 128 + number);
    if (number == SIGKILL) return;  // the ranks end some time after a killed launcher
    const nlohmann::json end = test::lines_of(run.out).back();
    BOOST_TEST(end.at("kind") == "end");
    BOOST_TEST(end.at("steps") == saved_step(run.out));
  };
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sends(number, kLauncher);
  sends(SIGTERM, 1);
  sends(SIGUSR2, 0);
  sends(SIGKILL, kLauncher);
  sends(SIGKILL, kMpirun);
  const ProcessResult result = Process(run.command).wait();
  BOOST_TEST(result.status == 0, result.output);
  BOOST_TEST(test::state_sha256(run.out) == expected);
}

// Both processes leave a step that takes a minute, even if the other one has not come as far in it.
BOOST_AUTO_TEST_CASE(processes_leave_a_long_step) {
  if (!can_share()) return;
  test::TemporaryDirectory folder;
  const fs::path out = folder / "run";
  Process process({kProgram, "--quiet", "--dataset", "synthetic", "--depth", "20", "--minibatch", "4096",
                   "--per-worker", "1", "--steps", "1", "--processes", "2", "--threads", "1", "--out", out.string()});
  wait_for(process, [&] { return fs::exists(out / "metrics.jsonl"); });
  ::kill(find_process(out, 1), SIGUSR1);
  const ProcessResult result = process.wait();
  BOOST_TEST(result.status == 128 + SIGUSR1, result.output);
  BOOST_TEST(test::lines_of(out).back().at("steps") == 0);
  BOOST_TEST(saved_step(out) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::processes_test
