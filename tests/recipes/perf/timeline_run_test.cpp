// Pictures and traces of steps that a run or the command inspect draws.
#include "tests/recipes/perf/timeline_cases.h"

#include <boost/test/unit_test.hpp>

namespace kb::timeline_test {

BOOST_AUTO_TEST_SUITE(timeline_run)

// A step whose parts are timed has the bits of any other; the files lie where the flags say.
BOOST_AUTO_TEST_CASE(a_drawn_run_has_the_same_bits) {
  test::TemporaryDirectory folder;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--per-worker", "5"}, {"--per-worker", "2", "--steps", "23"}}) {
    std::vector<std::string> words = more;
    BOOST_TEST(test::run(folder / "plain", words) == 0);
    words.insert(words.end(), {"--picture", (folder / "a.svg").string(), "--trace", (folder / "a.json").string()});
    BOOST_TEST(test::run(folder / "drawn", words) == 0);
    BOOST_TEST(test::state_sha256(folder / "drawn") == test::state_sha256(folder / "plain"));
    BOOST_TEST(test::trace(folder / "drawn") == test::trace(folder / "plain"));
    BOOST_TEST(!test::contains(test::read_file(folder / "drawn" / "manifest.json"), "a.svg"));
    const std::string picture = test::read_file(folder / "a.svg");
    BOOST_TEST(picture.starts_with("<svg "));
    BOOST_TEST(test::contains(picture, ": step 19, measured"));
    BOOST_TEST(!test::contains(picture, "timeline_test.cpp:"));
    BOOST_TEST(test::contains(picture, "small_run.cpp:"));
    BOOST_TEST(of_phase(test::read_file(folder / "a.json"), "X").size() > 10u);
    for (const char* name : {"plain", "drawn", "a.svg", "a.json"}) fs::remove_all(folder / name);
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_is_drawn) {
  test::TemporaryDirectory folder;
  const auto run = [&](const std::string& out, std::vector<std::string> words) {
    words.insert(words.begin(), {"--schedule", "constant"});
    return test::run(folder / out, std::move(words));
  };
  BOOST_TEST(run("whole", {"--steps", "8"}) == 0);
  BOOST_TEST(run("cut", {"--steps", "4"}) == 0);
  BOOST_TEST(test::run({"--resume", (folder / "cut").string(), "--steps", "8", "--picture",
                        (folder / "a.svg").string()}) == 0);
  BOOST_TEST(test::state_sha256(folder / "cut") == test::state_sha256(folder / "whole"));
  BOOST_TEST(test::contains(test::read_file(folder / "a.svg"), ": step 7, measured"));
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_told_before_the_run) {
  test::TemporaryDirectory folder;
  for (const char* flag : {"--picture", "--trace"}) {
    BOOST_TEST(test::run(folder / "run", {flag, (folder / "not" / "there").string()}) == 1);
    BOOST_TEST(!fs::exists(folder / "run"));
    BOOST_TEST(test::run(folder / "run", {flag, (folder / "a").string(), "--dry-run"}) == 2);
    BOOST_TEST(!fs::exists(folder / "a"));
  }
}

// The command inspect draws a step that it times, or one that it predicts over a network or for a GPU that is not here.
BOOST_AUTO_TEST_CASE(inspect_draws) {
  test::allow_libraries_their_leaks();
  test::TemporaryDirectory folder;
  const std::string picture = (folder / "a.svg").string(), trace = (folder / "a.json").string();
  const auto inspect = [&](std::vector<std::string> words, int status) {
    fs::remove(picture);
    fs::remove(trace);
    words.insert(words.begin(), {KB_BIN "/inspect", "lenet_mnist", "--minibatch", "8", "--threads", "1", "--picture",
                                 picture, "--trace", trace});
    const ProcessResult result = Process(words).wait();
    BOOST_TEST(result.status == status, result.output);
    BOOST_TEST(fs::exists(picture) == (status == 0));
    return status == 0 ? test::read_file(picture) : result.output;
  };
  const auto has = [](const std::string& text, const std::string& part) { BOOST_TEST(test::contains(text, part)); };
  const auto reductions = [&] {
    size_t count = 0;
    for (const Json& event : of_phase(test::read_file(trace), "X")) count += event.at("cat") == "all_reduce" ? 1 : 0;
    return count;
  };
  has(inspect({}, 0), "lenet_mnist, kn 8 = 1 process x 1 virtual worker x 8: a step, measured");
  BOOST_TEST(reductions() == 0u);
  has(inspect({"--predict"}, 0), "lenet_mnist, minibatch 8: an evaluation, measured");
  const std::vector<std::string> two{"--processes", "2", "--net", "50us,1GB/s"};
  has(inspect({"--processes", "2", "--net", "50us,1GB/s", "--explain-overlap"}, 0), "predicted over 50 us, 1 GB/s");
  BOOST_TEST(reductions() >= 2u);
  has(inspect(two, 2), "--explain-overlap --net");
  has(inspect({"--target", "sm_90"}, 2), "--rates");
  has(inspect({"--rates", "1GB/s,1GFLOP/s"}, 2), "--rates: expected --target");
  has(inspect({"--target", "sm_90", "--rates", "4.8TB/s"}, 2), "--rates: expected h100, h200, or BYTES,OPERATIONS");
  const std::vector<std::string> gpu{"--target", "sm_90", "--rates", "4.8TB/s,60TFLOP/s"};
  has(inspect(gpu, 0), "predicted from 4.8TB/s,60TFLOP/s");
  std::vector<std::string> gpus = gpu;
  gpus.insert(gpus.end(), two.begin(), two.end());
  has(inspect(gpus, 0), "over 50 us, 1 GB/s");
  BOOST_TEST(reductions() >= 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::timeline_test
