// Tests of the differences between two runs: settings, the first step whose losses differ, results.
#include "recipes/compare/run_diff.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::run_diff_test {
namespace {

using test::of_kind, test::run;

bool diff_holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct DiffFixture {
  test::TemporaryDirectory directory;
  std::string diff(const char* a, const char* b) { return run_diff_text(directory / a, directory / b); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_diff, DiffFixture)

BOOST_AUTO_TEST_CASE(equal_runs_have_no_difference) {
  for (const char* name : {"a", "b"}) BOOST_REQUIRE(run(directory / name, {}) == 0);
  const std::string text = diff("a", "b");
  BOOST_TEST(diff_holds(text, "flags, data, machine, build and graph: no difference\nresults\n"), text);
  BOOST_TEST(diff_holds(text, "losses: the same in every step that is in both runs: 20 (20 | 20)\n"), text);
  BOOST_TEST(text.ends_with("final state: the same bits\n"), text);
}

BOOST_AUTO_TEST_CASE(what_differs_is_named_with_both_values) {
  BOOST_REQUIRE(run(directory / "a", {}) == 0);
  BOOST_REQUIRE(run(directory / "b", {"--schedule", "constant", "--validation", "20", "--epochs", "3"}) == 0);
  const std::string text = diff("a", "b");
  for (const char* part : {"flags\n", "schedule ", " | constant\n", "data\n", "train ", " | 80\n", "fingerprint",
                           "steps_per_epoch  10 ", " | 8\n", "results\n", "result.error ", "ended.how"})
    BOOST_TEST(diff_holds(text, part), text);
  BOOST_TEST(!diff_holds(text, "graph_hash"), text);
  BOOST_TEST(!diff_holds(text, "minibatch"), text);
}

BOOST_AUTO_TEST_CASE(the_first_step_that_differs_is_told) {
  BOOST_REQUIRE(run(directory / "a", {"--epochs", "4", "--schedule", "constant"}) == 0);
  BOOST_REQUIRE(run(directory / "b", {"--epochs", "4", "--schedule", "step", "--milestones", "2"}) == 0);
  const auto a = of_kind(test::lines_of(directory / "a"), "step"), b = of_kind(test::lines_of(directory / "b"), "step");
  size_t first = 0;
  while (a.at(first).at("loss") == b.at(first).at("loss")) ++first;
  BOOST_TEST(first >= 20u);
  BOOST_TEST(diff_holds(diff("a", "b"), fmt::format("losses differ from step {} on: ", first)), diff("a", "b"));
}

BOOST_AUTO_TEST_CASE(a_run_that_has_not_ended_is_compared_too) {
  BOOST_REQUIRE(run(directory / "a", {}) == 0);
  BOOST_REQUIRE(run(directory / "b", {"--lr", "1e30"}) == 4);
  BOOST_TEST(diff_holds(diff("a", "b"), "losses differ from step 1 on: "), diff("a", "b"));
  BOOST_TEST(diff_holds(diff("a", "b"), "finished"), diff("a", "b"));
  std::filesystem::remove(directory / "b" / "metrics.jsonl");
  BOOST_TEST(diff_holds(diff("a", "b"), "losses: no step is in both runs\n"), diff("a", "b"));
}

BOOST_AUTO_TEST_CASE(what_is_no_run_is_refused) {
  BOOST_REQUIRE(run(directory / "a", {"--steps", "1"}) == 0);
  BOOST_CHECK_EXCEPTION(diff("a", "none"), Error, test::says("none holds no run: there is no manifest.json"));
  test::write_file(directory / "a" / "manifest.json", "{");
  BOOST_CHECK_EXCEPTION(diff("a", "a"), Error, test::says("manifest.json", "line 1"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_diff_test
