// Real processes that really die: the mlp_mnist program on noise, killed at random moments and inside saves, stopped by
// signals, out of disk; what goes on afterwards ends with the uninterrupted run's state_sha256.
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "recipes/models/export.h"
#include "runtime/process.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::killed_run_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using test::state_sha256, test::trace;

constexpr int kKilled = 128 + SIGKILL;

std::vector<std::string> program(std::vector<std::string> words) {
  words.insert(words.begin(), {KB_BIN "/mlp_mnist", "--quiet"});
  return words;
}

int64_t leftovers(const fs::path& out) {
  int64_t count = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(out / "checkpoints", error))
    count += entry.path().extension() == ".tmp";
  return count;
}

std::vector<std::string> fresh(const fs::path& folder) {
  return program({"--dataset", "synthetic", "--minibatch", "32", "--steps", "200", "--save-every", "10", "--out",
                  folder.string()});
}

// A run that nothing disturbed: an epoch of 128 steps and a part of one.
struct Undisturbed {
  test::TemporaryDirectory directory;
  const fs::path path = directory / "run";
  double seconds = 0;

  Undisturbed() {
    train();  // compiles the kernels if they are not compiled yet
    fs::remove_all(path);
    const Clock::time_point start = Clock::now();
    train();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  void train() const {
    const ProcessResult result = Process(fresh(path)).wait();
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
  }
};

const Undisturbed& undisturbed() {
  static const Undisturbed run;
  return run;
}

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path whole = undisturbed().path, out = directory / "run";
  const double seconds = undisturbed().seconds;

  std::vector<std::string> resumed() const { return program({"--resume", out.string()}); }
  // Returns the command that starts the run and, unchanged each time, goes on with it: --resume auto.
  std::vector<std::string> again() const {
    std::vector<std::string> words = fresh(out);
    words.insert(words.end(), {"--resume", "auto"});
    return words;
  }
  // Returns the command that starts the run, or goes on with it once it has a manifest.
  std::vector<std::string> next() const { return fs::exists(out / "manifest.json") ? resumed() : fresh(out); }

  void finish_and_compare() const {
    const ProcessResult result = Process(next()).wait();
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
    BOOST_TEST(state_sha256(out) == state_sha256(whole));
    BOOST_TEST((trace(out) == trace(whole)));
    BOOST_TEST(leftovers(out) == 0);
    fs::remove_all(out);
  }
};

// Waits until a temporary file is made in the folder.
class SaveWatch {
 public:
  explicit SaveWatch(const fs::path& folder) : descriptor_(::inotify_init1(IN_CLOEXEC)) {
    BOOST_REQUIRE(descriptor_ >= 0);
    BOOST_REQUIRE(::inotify_add_watch(descriptor_, folder.c_str(), IN_CREATE) >= 0);
  }
  ~SaveWatch() { ::close(descriptor_); }
  SaveWatch(const SaveWatch&) = delete;
  SaveWatch& operator=(const SaveWatch&) = delete;

  void wait() {
    alignas(inotify_event) char events[4096];
    BOOST_REQUIRE(::read(descriptor_, events, sizeof events) > 0);
  }

 private:
  int descriptor_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(killed_run, Fixture)

BOOST_AUTO_TEST_CASE(killed_at_ten_random_moments) {
  const uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  double longest = seconds;
  int inside_saves = 0, runs = 1;
  for (int kills = 0; kills < 10;) {
    Process process(next());
    std::this_thread::sleep_for(std::chrono::duration<double>(longest * random() / std::mt19937::max()));
    process.signal(SIGKILL);
    const ProcessResult result = process.wait();
    if (result.status == kKilled) {
      ++kills;
      inside_saves += leftovers(out) > 0;
      continue;
    }
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
    finish_and_compare();
    longest *= 0.8;  // it was faster than the one that was timed
    ++runs;
  }
  finish_and_compare();
  fmt::print("seed {}: 10 kills over {} runs of {:.2f} s, {} inside a save\n", seed, runs, seconds, inside_saves);
}

BOOST_AUTO_TEST_CASE(killed_inside_saves) {
  fs::create_directories(out / "checkpoints");
  int inside = 0;
  for (int attempt = 0; attempt < 12 && inside < 4; ++attempt) {
    SaveWatch watch(out / "checkpoints");
    Process process(next());
    for (int save = 0; save <= attempt % 3; ++save) watch.wait();
    process.signal(SIGKILL);
    if (process.wait().status == kKilled && leftovers(out) > 0) ++inside;
  }
  BOOST_TEST(inside >= 1);
  fmt::print("{} deaths inside a save\n", inside);
  finish_and_compare();
}

// A stopped run leaves a checkpoint of its last whole step and no evaluation of it; the same command goes on from
// there.
BOOST_AUTO_TEST_CASE(stopped_by_signals) {
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) {
    fs::create_directories(out / "checkpoints");
    SaveWatch watch(out / "checkpoints");
    Process process(again());
    watch.wait();
    process.signal(number);
    const ProcessResult result = process.wait();
    if (result.status == 0) continue;  // it was at its end already
    BOOST_REQUIRE_MESSAGE(result.status == 128 + number, result.output);
    const std::vector<nlohmann::json> lines = test::lines_of(out);
    const nlohmann::json& end = lines.back();
    BOOST_TEST(end.at("kind") == "end");
    BOOST_TEST((end.at("error").is_null() || end.at("steps") == 128));  // the end of an epoch is evaluated anyway
    const Checkpoint last = read_checkpoint(list_checkpoints(out / "checkpoints").at(0));
    BOOST_TEST(last.step == end.at("steps"));
    BOOST_TEST(last.fact("state_sha256") == end.at("state_sha256").get<std::string>());
  }
  BOOST_REQUIRE(Process(again()).wait().status == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
  BOOST_TEST((trace(out) == trace(whole)));
  std::vector<std::string> spoken = again();
  std::erase(spoken, "--quiet");
  const ProcessResult ended = Process(spoken).wait();
  BOOST_TEST(ended.status == 0);
  BOOST_TEST(test::contains(ended.output, "has ended: all its steps are done"));
}

BOOST_AUTO_TEST_CASE(an_evaluation_at_a_stop_is_asked_for) {
  fs::create_directories(out / "checkpoints");
  SaveWatch watch(out / "checkpoints");
  std::vector<std::string> words = again();
  words.push_back("--eval-on-stop");
  Process process(words);
  watch.wait();
  process.signal(SIGTERM);
  BOOST_REQUIRE(process.wait().status == 128 + SIGTERM);
  BOOST_TEST(test::lines_of(out).back().at("error").is_number());
  finish_and_compare();
}

// A step of 4096 virtual workers, which takes a minute, is left between two of them, as if it had not begun.
BOOST_AUTO_TEST_CASE(a_long_step_is_left) {
  fs::create_directories(out);
  SaveWatch watch(out);
  Process process({KB_BIN "/resnet_cifar", "--quiet", "--dataset", "synthetic", "--depth", "20", "--minibatch", "4096",
                   "--per-worker", "1", "--steps", "1", "--out", out.string()});
  while (!fs::exists(out / "metrics.jsonl")) watch.wait();
  process.signal(SIGTERM);
  const ProcessResult result = process.wait();
  BOOST_REQUIRE_MESSAGE(result.status == 128 + SIGTERM, result.output);
  BOOST_TEST(test::lines_of(out).back().at("steps") == 0);
  BOOST_TEST(read_checkpoint(list_checkpoints(out / "checkpoints").at(0)).step == 0);
}

BOOST_AUTO_TEST_CASE(another_run_in_the_folder_is_refused) {
  fs::copy(whole, out, fs::copy_options::recursive);
  std::vector<std::string> words = again();
  words.insert(words.end(), {"--lr", "0.3"});
  const ProcessResult other = Process(words).wait();
  BOOST_TEST(other.status == 1);
  const std::string said = "mlp_mnist: --resume auto: " + out.string() +
                           " holds another run\n- --lr 0.05   the run has\n+ " +
                           "--lr 0.3   this command has\n  hint: another --out";
  BOOST_TEST(other.output.starts_with(said), other.output);
  fs::remove_all(out / "checkpoints");  // the run begins anew in its folder
  test::write_file(out / "metrics.jsonl", "");
  BOOST_REQUIRE(Process(again()).wait().status == 0);
  BOOST_TEST((trace(out) == trace(whole)));
  BOOST_TEST(Process(program({"--dataset", "synthetic", "--resume", "auto"})).wait().status == 2);
}

BOOST_AUTO_TEST_CASE(the_manifests_command_gives_the_same_state) {
  const nlohmann::json manifest = nlohmann::json::parse(test::read_file(whole / "manifest.json"));
  const std::string command = manifest.at("command"), start = "./run mlp_mnist ";
  BOOST_REQUIRE(command.starts_with(start));
  const std::string line = KB_BIN "/mlp_mnist " + command.substr(start.size()) + " --out " + out.string();
  const ProcessResult result = Process({"/bin/sh", "-c", line}).wait();
  BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
  BOOST_TEST((trace(out) == trace(whole)));
}

// A limit on the size of files stands for a full disk, as it needs no privileges: the parameters fit, the checkpoint
// does not.
BOOST_AUTO_TEST_CASE(a_file_that_grows_too_large_stops_the_run) {
  std::string line = "ulimit -f 1500;";  // KiB
  for (const std::string& word : fresh(out)) line += " " + word;
  const ProcessResult result = Process({"/bin/bash", "-c", line}).wait();
  BOOST_TEST(result.status == 1);
  const std::string said =
      "step-00000010.safetensors: File too large; 2.2 MB are needed, the limit on a file (ulimit "
      "-f) is 1.5 MB\n  kept: no checkpoint";
  BOOST_TEST(test::contains(result.output, said));
  BOOST_TEST(leftovers(out) == 0);
  finish_and_compare();
}

BOOST_AUTO_TEST_CASE(a_full_disk_keeps_the_last_good_checkpoint) {
  fs::create_directories(out);
  {
    test::SmallDisk disk(out, 5500);
    if (!disk.mounted()) {
      fmt::print("skipped: no small file system can be mounted: {}\n", disk.reason());
      return;
    }
    std::vector<std::string> words = fresh(out);
    std::erase(words, "--quiet");  // which leaves out notes
    const ProcessResult result = Process(words).wait();
    BOOST_TEST(result.status == 1, result.output);
    BOOST_TEST(test::contains(result.output, "NOTE: the disk of " + out.string() + " has "));
    BOOST_TEST(test::contains(result.output, "(4 of 2.15 MB for checkpoints, 2 of 1.08 MB for model.safetensors)"));
    BOOST_TEST(test::contains(result.output, "No space left on device; 2.2 MB are needed, "));
    const std::vector<fs::path> kept = list_checkpoints(out / "checkpoints");
    BOOST_REQUIRE(kept.size() == 2u);
    BOOST_TEST(read_checkpoint(kept[0]).step == 20);
    const std::string last =
        "\n  kept: " + kept[0].string() + "\n  hint: once that is mended, --resume goes on from there";
    BOOST_TEST(test::contains(result.output, last));
    const ProcessResult again = Process(next()).wait();
    BOOST_TEST(again.status == 1, again.output);
    BOOST_TEST(test::contains(again.output, "model.safetensors: No space left on device; "));
    BOOST_TEST(test::contains(again.output, last));
    BOOST_TEST(leftovers(out) == 0);
    fs::copy(out, directory / "saved", fs::copy_options::recursive);
  }
  fs::remove_all(out);
  fs::rename(directory / "saved", out);
  finish_and_compare();
}

BOOST_AUTO_TEST_CASE(two_processes_do_not_train_in_one_folder) {
  fs::create_directories(out / "checkpoints");
  SaveWatch watch(out / "checkpoints");
  Process first(next());
  watch.wait();
  first.signal(SIGSTOP);
  const ProcessResult second = Process(resumed()).wait();
  first.signal(SIGCONT);
  BOOST_TEST(second.status == 1);
  BOOST_TEST(test::contains(second.output, "is in use: another process trains in it"));
  BOOST_TEST(first.wait().status == 0);
  BOOST_TEST(state_sha256(out) == state_sha256(whole));
}

BOOST_AUTO_TEST_CASE(export_as_a_program) {
  const std::string to = directory / "model.safetensors";
  const ProcessResult result = Process({KB_BIN "/export", whole.string(), "--to", to}).wait();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.output.starts_with(to + ": 6 tensors, 269322 elements, after 200 steps of mlp_mnist ("),
             result.output);
  BOOST_TEST(Process({KB_BIN "/export", whole.string()}).wait().status == 2);
  BOOST_TEST(Process({KB_BIN "/export", "/nowhere", "--to", to}).wait().status == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::killed_run_test
