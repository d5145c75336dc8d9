// How often a run evaluates and saves: as it is written, when it is due, and that a resume keeps to it.
#include "recipes/config/period.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "recipes/config/plan.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::period_test {
namespace {

using Unit = Period::Unit;
using test::of_kind, test::run;

const RunPlan kPlan{1030, 100, 10, 60};  // 10 steps an epoch, and 30 samples left out

std::vector<int64_t> due_steps(const std::string& text) {
  const Period every = parse_period("--eval-every", text, Unit::epochs);
  std::vector<int64_t> steps;
  for (int64_t done = 0; done <= kPlan.steps; ++done)
    if (is_due(every, kPlan, done)) steps.push_back(done);
  return steps;
}

std::vector<int64_t> multiples(int64_t of) {
  std::vector<int64_t> steps;
  for (int64_t step = of; step <= kPlan.steps; step += of) steps.push_back(step);
  return steps;
}

std::vector<int64_t> evaluated_steps(const std::filesystem::path& out) {
  std::vector<int64_t> steps;
  for (const nlohmann::json& line : of_kind(test::lines_of(out), "eval")) steps.push_back(line.at("step"));
  return steps;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(period)

BOOST_AUTO_TEST_CASE(words_and_back) {
  for (const auto& [text, again] : {std::pair<std::string, std::string>{"0", "0"},
                                    {"3", "3"},
                                    {"3ep", "3"},
                                    {"0.5ep", "0.5ep"},
                                    {"200st", "200st"},
                                    {"50ks", "50ks"},
                                    {"12.8ks", "12.8ks"},
                                    {"geo:1.1", "geo:1.1"}}) {
    const Period every = parse_period("--eval-every", text, Unit::epochs);
    BOOST_TEST(every.text(Unit::epochs) == again);
    BOOST_TEST((parse_period("--eval-every", again, Unit::epochs) == every));
  }
  BOOST_TEST((parse_period("--save-every", "7", Unit::steps) == Period{7, Unit::steps}));
  BOOST_TEST((Period{2, Unit::epochs}.text(Unit::steps) == "2ep"));
}

BOOST_AUTO_TEST_CASE(what_is_no_interval_is_refused) {
  for (const char* text : {"", "-1", "1.5", "ep", "0ep", "1.5st", "nanep", "infks", "1e10st", "geo:", "geo:1",
                           "geo:0.5", "2 ep", "1epst", "geo:x"})
    BOOST_CHECK_EXCEPTION(
        parse_period("--eval-every", text, Unit::epochs), Error,
        test::says("--eval-every", "expected", "a whole number of epochs, or 1ep (epochs), 200st (steps)", text));
}

BOOST_AUTO_TEST_CASE(due_steps_are_those_that_reach_a_multiple) {
  BOOST_TEST(due_steps("0").empty());
  BOOST_TEST(due_steps("1") == multiples(10));
  BOOST_TEST(due_steps("2ep") == multiples(20));
  BOOST_TEST(due_steps("0.1ep") == multiples(1));
  BOOST_TEST(due_steps("0.7ep") == multiples(7));
  BOOST_TEST(due_steps("0.25ep") == (std::vector<int64_t>{3,  5,  8,  10, 13, 15, 18, 20, 23, 25, 28, 30,
                                                          33, 35, 38, 40, 43, 45, 48, 50, 53, 55, 58, 60}));
  BOOST_TEST(due_steps("7st") == multiples(7));
  BOOST_TEST(due_steps("1.5ks") == multiples(15));
  BOOST_TEST(due_steps("2.75ks") == (std::vector<int64_t>{28, 55}));
  BOOST_TEST(due_steps("0.001ks") == multiples(1));  // a step passes several points: it is due once
}

BOOST_AUTO_TEST_CASE(geometric_steps_are_the_distinct_powers) {
  for (const double ratio : {1.1, 1.01, 1.5, 2.0, 3.0, 10.0}) {
    std::set<int64_t> expected;
    for (int64_t k = 0; k < 3000; ++k) {
      const double power = std::ceil(std::pow(ratio, static_cast<double>(k)));
      if (power > 200000) break;
      expected.insert(static_cast<int64_t>(power));
    }
    for (int64_t done = 0; done <= 200000; ++done)
      if (is_due({ratio, Unit::geometric}, kPlan, done) != expected.contains(done))
        BOOST_ERROR("ratio " << ratio << ", step " << done);
  }
}

BOOST_AUTO_TEST_CASE(a_run_evaluates_and_saves_as_it_is_asked) {
  test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "a", {"--eval-every", "geo:2", "--save-every", "0.05ks", "--keep", "9"}) == 0);
  BOOST_TEST(evaluated_steps(directory / "a") == (std::vector<int64_t>{1, 2, 4, 8, 16, 20}));
  for (const char* name : {"05", "10", "15"})
    BOOST_TEST(
        std::filesystem::exists(directory / "a" / "checkpoints" / fmt::format("step-000000{}.safetensors", name)));
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_keeps_to_it) {
  test::TemporaryDirectory directory;
  for (const char* every : {"geo:1.5", "3st", "0.35ep", "0.06ks"}) {
    const auto whole = directory / (std::string("whole-") + every), parts = directory / (std::string("parts-") + every);
    BOOST_REQUIRE(run(whole, {"--eval-every", every}) == 0);
    BOOST_REQUIRE(run(parts, {"--eval-every", every, "--stop-at", "7st"}) == 0);
    BOOST_REQUIRE(run({"--resume", parts.string(), "--stop-at", "12st"}) == 0);
    BOOST_REQUIRE(run({"--resume", parts.string(), "--stop-at", "20st"}) == 0);
    BOOST_TEST(test::trace(parts) == test::trace(whole));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::period_test
