// `--seeds` with real processes: the mlp_mnist program on noise. A study that was killed goes on, and gives the bits of
// one that was not, and of each training alone.
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "recipes/trials/run_reader.h"
#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::seeds_test {
namespace {

namespace fs = std::filesystem;
using test::state_sha256;

constexpr int kStudySeeds = 3;

std::vector<std::string> mlp(std::vector<std::string> words, const fs::path& out, const std::string& steps = "100") {
  words.insert(words.begin(), {KB_BIN "/mlp_mnist", "--quiet", "--dataset", "synthetic", "--minibatch", "32",
                               "--shards", "2", "--steps", steps, "--save-every", "10", "--out", out.string()});
  return words;
}

ProcessResult finish(const std::vector<std::string>& words) {
  const ProcessResult result = Process(words).wait();
  BOOST_TEST_MESSAGE(result.output);
  return result;
}

fs::path seed_folder(const fs::path& study, int seed) { return study / ("seed-" + std::to_string(seed)); }

bool has_checkpoint(const fs::path& run) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", error))
    if (entry.path().extension() == ".safetensors") return true;
  return false;
}

template <class Condition>
void wait_until(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(seeds)

BOOST_AUTO_TEST_CASE(each_seed_is_the_training_alone_whatever_the_jobs) {
  const test::TemporaryDirectory directory;
  BOOST_TEST(finish(mlp({"--seeds", "1..3", "--jobs", "3"}, directory / "three")).status == 0);
  BOOST_TEST(finish(mlp({"--seeds", "1,2", "--jobs", "1"}, directory / "one")).status == 0);
  BOOST_TEST(finish(mlp({"--seed", "2"}, directory / "alone")).status == 0);
  for (int seed = 1; seed <= kStudySeeds - 1; ++seed)
    BOOST_TEST(state_sha256(seed_folder(directory / "three", seed)) ==
               state_sha256(seed_folder(directory / "one", seed)));
  BOOST_TEST(state_sha256(seed_folder(directory / "three", 2)) == state_sha256(directory / "alone"));
  BOOST_TEST(state_sha256(seed_folder(directory / "three", 1)) != state_sha256(directory / "alone"));
  const auto summary = nlohmann::json::parse(test::read_file(directory / "three" / "summary.json"));
  BOOST_TEST(summary["runs"].size() == 3u);
  BOOST_TEST(summary["final"]["count"] == 3);
  BOOST_TEST(fs::exists(directory / "three" / "curves.svg"));
}

BOOST_AUTO_TEST_CASE(a_study_grows_though_its_threads_differ) {
  const test::TemporaryDirectory directory;
  const fs::path out = directory / "study";
  BOOST_TEST(finish(mlp({"--seeds", "1"}, out)).status == 0);
  const std::string first = state_sha256(seed_folder(out, 1));
  BOOST_TEST(finish(mlp({"--seeds", "2..3", "--jobs", "2"}, out)).status == 0);
  BOOST_TEST(state_sha256(seed_folder(out, 1)) == first);
  const auto summary = nlohmann::json::parse(test::read_file(out / "summary.json"));
  BOOST_TEST(summary["final"]["count"] == 3);  // the first seed's run is a part of it
}

BOOST_AUTO_TEST_CASE(held_out_samples_are_named) {
  const test::TemporaryDirectory directory;
  const fs::path out = directory / "study";
  BOOST_TEST(finish(mlp({"--seeds", "1..2", "--validation", "32"}, out)).status == 0);
  const auto summary = nlohmann::json::parse(test::read_file(out / "summary.json"));
  BOOST_TEST(summary["evaluated_on"] == "valid");
  BOOST_TEST(summary["final"]["count"] == 2);
}

BOOST_AUTO_TEST_CASE(flags_may_come_from_a_run) {
  const test::TemporaryDirectory directory;
  BOOST_TEST(finish(mlp({"--seed", "7"}, directory / "run", "20")).status == 0);
  BOOST_TEST(finish({KB_BIN "/mlp_mnist", "--quiet", "--config", (directory / "run").string(), "--seeds", "1,7",
                     "--out", (directory / "study").string()})
                 .status == 0);
  BOOST_TEST(state_sha256(directory / "study" / "seed-7") == state_sha256(directory / "run"));
}

BOOST_AUTO_TEST_CASE(a_study_that_was_killed_goes_on_to_the_same_bits) {
  const test::TemporaryDirectory directory;
  const fs::path whole = directory / "whole", killed = directory / "killed";
  const std::string steps = "300";
  BOOST_TEST(finish(mlp({"--seeds", "1..3", "--jobs", "2"}, whole, steps)).status == 0);
  {
    Process study(mlp({"--seeds", "1..3", "--jobs", "2"}, killed, steps));
    wait_until([&] { return has_checkpoint(seed_folder(killed, 1)) || !study.runs(); });
    study.signal(SIGKILL);
    study.wait();
  }
  BOOST_TEST(!fs::exists(killed / "summary.json"));
  BOOST_TEST(finish(mlp({"--seeds", "1..3", "--jobs", "2"}, killed, steps)).status == 0);
  for (int seed = 1; seed <= kStudySeeds; ++seed) {
    BOOST_TEST(state_sha256(seed_folder(killed, seed)) == state_sha256(seed_folder(whole, seed)));
    const RunReport run = read_run(seed_folder(killed, seed));
    BOOST_TEST(run.how == "finished");
    BOOST_TEST(run.steps == std::stoll(steps));
  }
}

BOOST_AUTO_TEST_CASE(sigterm_stops_all_with_checkpoints) {
  const test::TemporaryDirectory directory;
  const fs::path out = directory / "study";
  Process study(mlp({"--seeds", "1..2", "--jobs", "2"}, out, "1000000"));
  wait_until(
      [&] { return (has_checkpoint(seed_folder(out, 1)) && has_checkpoint(seed_folder(out, 2))) || !study.runs(); });
  study.signal(SIGTERM);
  BOOST_TEST(study.wait().status == 128 + SIGTERM);
  for (int seed = 1; seed <= 2; ++seed) BOOST_TEST(read_run(seed_folder(out, seed)).how == "interrupted");
}

BOOST_AUTO_TEST_CASE(flags_of_one_training_are_refused) {
  const test::TemporaryDirectory directory;
  const auto refused = [&](std::vector<std::string> words, const char* part) {
    words.insert(words.begin(), {"--seeds", "1..2"});
    const ProcessResult result = finish(mlp(words, directory / "study"));
    BOOST_TEST(result.status == 2);
    BOOST_TEST(test::contains(result.output, part));
  };
  refused({"--seed", "3"}, "--seed: expected --seeds alone, got both");
  refused({"--dry-run"}, "looks inside one training");
  refused({"--resume", "auto"}, "expected no --resume");
  const ProcessResult alone = finish(mlp({"--jobs", "2"}, directory / "study"));
  BOOST_TEST(alone.status == 2);
  BOOST_TEST(test::contains(alone.output, "--seeds"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::seeds_test
