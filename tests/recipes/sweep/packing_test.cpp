// Tests how many trials are chosen to train side by side. A shell script stands in for a training; its metrics say when
// it took its steps.
#include "recipes/sweep/packing.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <map>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::packing_test {
namespace {

namespace fs = std::filesystem;

// The training's steps take 10 ms with two threads, 12.5 ms with one, and 3 s with the flag --slow, and it ends once
// they are written. With --endless it goes on, and makes its second step after 2.1 s.
constexpr const char* kTraining = R"SH(case "$*" in *endless*) trap 'exit 143' TERM ;; *) trap '' TERM ;; esac
for out in "$@"; do :; done
mkdir -p "$out"
case "$*" in *fail*) echo "no such data"; exit 1 ;; *slow*) ms=3000 ;; *"--threads 1"*) ms=12.5 ;; *) ms=10 ;; esac
steps() {
  awk -v ms=$ms -v i=$1 -v end=$2 'BEGIN { for (; i < end; ++i)
    printf "{\"kind\":\"step\",\"step\":%d,\"wall_s\":%f}\n", i, i * ms / 1000 }' >> "$out/metrics.jsonl"
}
steps 0 1
case "$*" in *endless*) sleep 2.1 > /dev/null 2>&1 & wait ;; esac
steps 1 400
case "$*" in *endless*) while :; do sleep 0.02; done ;; esac
)SH";

struct PackingFixture {
  test::TemporaryDirectory directory;
  const fs::path store = directory / "store";

  PackingFixture() { test::write_file(directory / "trial.sh", kTraining); }
  PackingTrial trial(int jobs, const char* word = "--lr") const {
    return {{"/bin/sh", (directory / "trial.sh").string()}, {"kn8-p00", {word, "0.1"}}, {jobs, jobs == 1 ? 2 : 1, 4}};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(packing, PackingFixture)

BOOST_AUTO_TEST_CASE(the_speed_is_that_of_the_steps) {
  const auto speed = [&](int jobs, const char* word) {
    const test::TemporaryDirectory own;
    return packed_speed(trial(jobs, word), own / "store", [] { return false; }).value();
  };
  BOOST_TEST(speed(1, "--lr") == 100, boost::test_tools::tolerance(0.01));
  BOOST_TEST(speed(2, "--lr") == 160, boost::test_tools::tolerance(0.01));
  BOOST_TEST(speed(1, "--slow") == 1.0 / 3, boost::test_tools::tolerance(0.01));
  BOOST_TEST(speed(1, "--endless") == 100, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_measurement) {
  int looks = 0;
  BOOST_TEST(!packed_speed(trial(2, "--endless"), store, [&] { return ++looks > 3; }));
}

BOOST_AUTO_TEST_CASE(a_training_that_fails_says_why) {
  BOOST_CHECK_EXCEPTION(packed_speed(trial(2, "fail"), store, [] { return false; }), Error, test::says("no such data"));
}

BOOST_AUTO_TEST_CASE(a_cpu_has_one_number_to_try_and_a_gpu_several) {
  BOOST_TEST(packings_to_try(16, false) == std::vector<int>{16});
  BOOST_TEST(packings_to_try(16, true) == (std::vector<int>{2, 4, 8, 16}));
  BOOST_TEST(packings_to_try(7, true) == (std::vector<int>{2, 4}));
  BOOST_TEST(packings_to_try(1, false).empty());
  BOOST_TEST(packings_to_try(1, true).empty());
}

BOOST_AUTO_TEST_CASE(the_fastest_is_taken_and_the_first_that_gains_nothing_is_the_last) {
  struct Case {
    std::map<int, double> speeds;
    int best, lines;
  };
  const Case cases[] = {
      {{{1, 100}, {2, 180}, {4, 300}, {8, 310}, {16, 1000}}, 4, 3},  // 310 is less than 5 % above 300
      {{{1, 100}, {2, 104}, {4, 300}}, 1, 1},
      {{{1, 100}, {2, 106}, {4, 112}}, 4, 2},
      {{{1, 100}, {2, 105}}, 2, 1},
      {{{1, 0}, {2, 50}}, 2, 1},
  };
  for (const Case& known : cases) {
    std::vector<int> packings;
    for (const auto& [jobs, speed] : known.speeds)
      if (jobs > 1) packings.push_back(jobs);
    std::vector<std::string> lines;
    const auto best = best_packing(
        packings, [&](int jobs) { return std::optional(known.speeds.at(jobs)); },
        [&](const std::string& line) { lines.push_back(line); });
    BOOST_TEST(best.value() == known.best);
    BOOST_TEST(std::ssize(lines) == known.lines);
  }
}

BOOST_AUTO_TEST_CASE(several_that_fail_are_no_reason_to_train_none) {
  std::vector<std::string> lines;
  const auto speed = [](int jobs) -> std::optional<double> {
    if (jobs == 4) throw Error("out of memory");
    return 100.0 * jobs;
  };
  const auto say = [&](const std::string& line) { lines.push_back(line); };
  BOOST_TEST(best_packing({2, 4, 8}, speed, say).value() == 2);
  BOOST_TEST(lines == (std::vector<std::string>{"2 side by side train 2 x what one after another would",
                                                "4 side by side fail: out of memory"}));
  BOOST_TEST(!best_packing(
      {2}, [](int jobs) { return jobs > 1 ? std::nullopt : std::optional(1.0); }, say));
  BOOST_TEST(!best_packing(
      {2}, [](int) { return std::optional<double>(); }, say));
  BOOST_CHECK_THROW(best_packing(
                        {2}, [](int) -> std::optional<double> { throw Error("no data"); }, say),
                    Error);
}

// A process that was killed while it measured leaves files, which the next one removes.
BOOST_AUTO_TEST_CASE(leftovers_go) {
  const fs::path left = ScratchFolder(store).path() / "0-of-2" / "checkpoints";
  fs::create_directories(left);
  test::write_file(left / "step-1", "large");
  const ScratchFolder scratch(store);
  BOOST_TEST(fs::is_empty(scratch.path()));
  BOOST_TEST(std::distance(fs::directory_iterator(store), {}) == 1);
}

BOOST_AUTO_TEST_CASE(memory_bounds_the_trials_at_once) {
  BOOST_TEST(trials_in_memory({100}, 1, 1000) == 9);  // nine tenths of the memory are used
  BOOST_TEST(trials_in_memory({50}, 2, 1000) == 9);
  BOOST_TEST(trials_in_memory({100}, 1, 50) == 1);
  BOOST_TEST(trials_in_memory({0}, 1, int64_t{1} << 40) == std::numeric_limits<int>::max());
  // A process takes a gigabyte more of the GPU than its programs do.
  BOOST_TEST(trials_in_memory({100, 3'000'000'000, 80'000'000'000}, 1, 1'000'000) == 18);
  BOOST_TEST(trials_in_memory({100, 3'000'000'000, 80'000'000'000}, 1, 1000) == 9);
  test::write_file(directory / "dry.sh", R"SH(for out in "$@"; do :; done
case "$*" in *"--threads 1"*--dry-run*) ;; *) echo "expected a dry run of one thread"; exit 1 ;; esac
mkdir -p "$out"
case "$*" in *cuda*) gpu=4000 ;; *) gpu=0 ;; esac
echo '{"memory": {"programs": 7, "process": 123456, "device": '$gpu'}}' > "$out/manifest.json"
)SH");
  const std::vector<std::string> program = {"/bin/sh", (directory / "dry.sh").string()};
  const auto memory_of = [&](const char* device) {
    return trial_memory(program, {"a", {"--threads", "8", "--device", device}}, directory.path(), [] { return false; });
  };
  BOOST_TEST((memory_of("cpu").value() == TrialMemory{123'456, 0, 0}));
  BOOST_TEST((memory_of("cuda").value() == TrialMemory{123'456, 7, 4000}));
  BOOST_CHECK_EXCEPTION(trial_memory({"/bin/sh", (directory / "trial.sh").string()}, {"a", {"fail"}}, directory.path(),
                                     [] { return false; }),
                        Error, test::says("no such data"));
  const PackingTrial endless = trial(2, "--endless");
  BOOST_TEST(!trial_memory(endless.program, endless.trial, directory.path(), [] { return true; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::packing_test
