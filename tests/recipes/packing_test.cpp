// How many trials train best side by side, with a shell script in place of a training, whose metrics say when it took
// its steps.
#include "recipes/study/packing.h"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "graph/error.h"
#include "recipes/study/trial_memory.h"
#include "tests/says.h"
#include "tests/support.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Steps of 10 ms with two threads, of 12.5 ms with one.
constexpr const char* kTraining = R"SH(for out in "$@"; do :; done
mkdir -p "$out"
case "$*" in *fail*) echo "no such data"; exit 1 ;; *"--threads 1"*) ms=12.5 ;; *) ms=10 ;; esac
awk -v ms=$ms 'BEGIN { for (i = 0; i < 400; ++i) printf "{\"kind\":\"step\",\"step\":%d,\"wall_s\":%f}\n", i, i * ms / 1000 }' \
  > "$out/metrics.jsonl"
trap 'exit 143' TERM
while :; do sleep 0.02; done
)SH";

struct PackingFixture {
  test::TemporaryDirectory directory;
  const fs::path store = directory / "store";

  PackingFixture() { test::write_file(directory / "trial.sh", kTraining); }
  PackingTrial trial(const char* word = "--lr") const {
    return {{"/bin/sh", (directory / "trial.sh").string()}, {"kn8-p00", {word, "0.1"}}, 2, 1, 2, 4};
  }
  // Files below the store.
  long files() const {
    return std::count_if(fs::recursive_directory_iterator(store), {},
                         [](const fs::directory_entry& entry) { return entry.is_regular_file(); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(packing, PackingFixture)

BOOST_AUTO_TEST_CASE(the_gain_is_that_of_the_steps) {
  const auto packing = measure_packing(trial(), store, [] { return false; });
  BOOST_REQUIRE(packing);
  BOOST_TEST(packing->jobs == 2);
  BOOST_TEST(packing->gain == 1.6, boost::test_tools::tolerance(0.01));  // 2 x 80 steps a second over 100
  BOOST_TEST(packing->pays());
  BOOST_TEST(files() == 0);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_measurement) {
  int looks = 0;
  BOOST_TEST(!measure_packing(trial(), store, [&] { return ++looks > 3; }));
  BOOST_TEST(files() == 0);
}

BOOST_AUTO_TEST_CASE(a_training_that_fails_says_why) {
  BOOST_CHECK_EXCEPTION(measure_packing(trial("fail"), store, [] { return false; }), Error, test::says("no such data"));
}

// Leftovers of a process that was killed while it measured.
BOOST_AUTO_TEST_CASE(leftovers_go) {
  BOOST_TEST(!measure_packing(trial(), store, [] { return true; }));
  const fs::path scratch = fs::directory_iterator(store)->path();
  fs::create_directories(scratch / "0-of-2" / "checkpoints");
  test::write_file(scratch / "0-of-2" / "checkpoints" / "step-1", "large");
  BOOST_TEST(!measure_packing(trial(), store, [] { return true; }));
  BOOST_TEST(files() == 0);
  BOOST_TEST(std::distance(fs::directory_iterator(store), {}) == 1);
}

BOOST_AUTO_TEST_CASE(memory_bounds_the_trials_at_once) {
  BOOST_TEST(trials_in_memory(100, 1000) == 9);  // of nine tenths
  BOOST_TEST(trials_in_memory(100, 50) == 1);
  BOOST_TEST(trials_in_memory(0, int64_t{1} << 40) == std::numeric_limits<int>::max());
  test::write_file(directory / "dry.sh", R"SH(for out in "$@"; do :; done
case "$*" in *"--threads 1"*--dry-run*) ;; *) echo "expected a dry run of one thread"; exit 1 ;; esac
mkdir -p "$out"
echo '{"memory": {"programs": 1, "process": 123456}}' > "$out/manifest.json"
)SH");
  const std::vector<std::string> program = {"/bin/sh", (directory / "dry.sh").string()};
  BOOST_TEST(trial_memory(program, {"a", {"--threads", "8"}}, directory.path(), [] { return false; }).value() ==
             123'456);
  BOOST_CHECK_EXCEPTION(trial_memory({"/bin/sh", (directory / "trial.sh").string()}, {"a", {"fail"}}, directory.path(),
                                     [] { return false; }),
                        Error, test::says("no such data"));
  const PackingTrial endless = trial();
  BOOST_TEST(!trial_memory(endless.program, endless.trial, directory.path(), [] { return true; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
