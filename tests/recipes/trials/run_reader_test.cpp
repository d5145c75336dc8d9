// Tests what is read from a run folder: the steps that the run has done, from the end of its metrics, and its
// evaluations.
#include "recipes/trials/run_reader.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/support.h"

namespace kb::run_reader_test {

BOOST_AUTO_TEST_SUITE(run_reader)

// A line of layers, which is longer than many of steps, may be the last one.
BOOST_AUTO_TEST_CASE(steps_are_found_behind_long_lines) {
  const test::TemporaryDirectory run;
  BOOST_TEST(steps_of_run(run.path()) == 0);
  std::string text;
  const auto steps = [&] {
    test::write_file(run / "metrics.jsonl", text);
    return steps_of_run(run.path());
  };
  BOOST_TEST(steps() == 0);
  for (int step = 0; step < 300; ++step) text += fmt::format("{{\"kind\":\"step\",\"step\":{},\"loss\":1.5}}\n", step);
  BOOST_TEST(steps() == 300);
  for (const size_t numbers : {1000u, 100'000u}) {
    text += "{\"kind\":\"layers\",\"step\":299,\"weight\":[1.5";
    for (size_t number = 1; number < numbers; ++number) text += ",1.5";
    text += "]}\n";
    BOOST_TEST(steps() == 300);
  }
  text += "{\"kind\":\"step\",\"step\":300";  // torn
  BOOST_TEST(steps() == 300);
}

// None of these values can be a number of steps, so that lines with them count as damaged.
BOOST_AUTO_TEST_CASE(steps_that_no_run_can_have_are_passed_over) {
  constexpr const char* kNone[] = {"null", "-1", "1e300", "-1e300", "9007199254740993e1", "12.5", "\"12\"", "1e999"};
  const test::TemporaryDirectory run;
  test::write_file(run / "manifest.json",
                   R"({"recipe": "r", "seed": 1, "flags": {"minibatch": 4}, "steps": 10, "steps_per_epoch": 5})");
  const auto line = [](const char* kind, const std::string& step) {
    return fmt::format(R"({{"kind":"{}","step":{},"epoch":1,"error":0.25,"seconds":2}})", kind, step) + "\n";
  };
  std::string text = line("step", "5") + line("eval", "6");
  for (const char* step : kNone) text += line("step", step) + line("eval", step);
  test::write_file(run / "metrics.jsonl", text + "{\"kind\":\"eval\",\"error\":0.5}\n");
  BOOST_TEST(steps_of_run(run.path()) == 6);
  RunReport report = read_run(run.path());
  BOOST_REQUIRE(report.evaluations.size() == 1u);
  BOOST_TEST(report.evaluations.front().step == 6);
  BOOST_TEST(report.train_seconds == 2);
  test::write_file(run / "metrics.jsonl", text + line("eval", "9007199254740992") + line("eval", "8"));
  report = read_run(run.path());
  BOOST_REQUIRE(report.evaluations.size() == 2u);
  BOOST_TEST(report.evaluations.back().step == 8);
  // The run went on from an earlier checkpoint: what it evaluated again is not there twice.
  test::write_file(run / "metrics.jsonl",
                   line("eval", "4") + line("eval", "6") + line("eval", "8") + line("eval", "6"));
  report = read_run(run.path());
  BOOST_REQUIRE(report.evaluations.size() == 2u);
  BOOST_TEST(report.evaluations.back().step == 6);
  test::write_file(run / "metrics.jsonl", R"({"kind":"stop","state_sha256":"ab","wall_s":7})"
                                          "\n");
  BOOST_TEST(read_run(run.path()).seconds == 7);
}

BOOST_AUTO_TEST_CASE(every_figure_of_an_evaluation_is_kept) {
  const test::TemporaryDirectory run;
  const std::string kind = R"("is_share": true, "higher_is_better": true)";
  const auto manifest = [&](const std::string& context) {
    test::write_file(run / "manifest.json",
                     fmt::format(R"({{"recipe": "r", "seed": 1, "flags": {{"minibatch": 4, "context": {}}},
                                      "steps_per_epoch": 5, "goal": {{"name": "top1", {}}},
                                      "metrics": [{{"name": "top5", {}}}]}})",
                                 context, kind, kind));
    return read_run(run.path());
  };
  test::write_file(run / "metrics.jsonl",
                   R"({"kind":"eval","step":6,"loss":1.5,"top1":0.25,"top5":0.5,"ema_loss":1.25,"ema_top5":null})"
                   "\n");
  const RunReport report = manifest("64");
  BOOST_TEST(report.context.value() == 64);
  const std::map<std::string, double>& others = report.evaluations.at(0).others;
  BOOST_TEST(others.size() == 3u);
  BOOST_TEST(others.at("top5") == 0.5);
  BOOST_TEST(others.at("ema_loss") == 1.25);
  BOOST_TEST(std::isnan(others.at("ema_top5")));
  for (const char* none : {"0", "-1", "1e300", "\"long\"", "null"}) BOOST_TEST(!manifest(none).context.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_reader_test
