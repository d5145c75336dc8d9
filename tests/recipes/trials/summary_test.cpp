// Statistics over several runs, against sums by hand.
#include "recipes/trials/summary.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "recipes/config/values.h"
#include "recipes/trials/study_folder.h"
#include "runtime/median.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::summary_test {
namespace {

namespace fs = std::filesystem;

RunReport run_with(int64_t seed, const std::vector<double>& errors) {
  RunReport run;
  run.folder = "study/seed-" + std::to_string(seed);
  run.how = "finished";
  run.seed = seed;
  run.goal_kind.is_share = true;
  for (size_t i = 0; i < errors.size(); ++i)
    run.evaluations.push_back({static_cast<int64_t>(i), static_cast<double>(i), 0.5, errors[i], 0.25});
  run.result = errors.back();
  return run;
}

RunReport diverged(int64_t seed) {
  RunReport run = run_with(seed, {0.9});
  run.how = "diverged";
  run.diverged = true;
  return run;
}

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

BOOST_AUTO_TEST_SUITE(summary)

BOOST_AUTO_TEST_CASE(mean_and_stddev_of_the_sample) {
  BOOST_TEST(!mean_of({}));
  BOOST_TEST(!mean_of({3})->stddev);
  const MeanOf three = *mean_of({1, 2, 6});
  BOOST_TEST(three.mean == 3);
  BOOST_TEST(*three.stddev == std::sqrt((4.0 + 1 + 9) / 2));
  BOOST_TEST(median_of({5}) == 5);
  BOOST_TEST(median_of({9, 1, 5}) == 5);
  BOOST_TEST(median_of({9, 1, 5, 2}) == 3.5);
}

// Student's t of two degrees at 95 % is 4.303 (tables), and the odds of 8.2 % are 82 to 918.
BOOST_AUTO_TEST_CASE(the_mean_has_an_interval) {
  const auto near = boost::test_tools::tolerance(1e-4);
  BOOST_TEST(!mean_of({3})->interval(false));
  const double half = 4.3027 * std::sqrt(7.0 / 3);
  BOOST_TEST(mean_of({0, 1, 5})->interval(false)->high == 2 + half, near);
  BOOST_TEST(mean_of({1, 2, 6})->interval(false)->high == 3 * std::exp(half / 3), near);
  BOOST_TEST(mean_of({0, 0.5, 1})->interval(true)->low == 1 / (1 + std::exp(4.3027 * 4 / std::sqrt(12.0))), near);
  const Summary three = summary_of({run_with(1, {0.08}), run_with(2, {0.085}), run_with(3, {0.081})});
  BOOST_TEST(test::contains(summary_table(three), "8.20 +- 0.26 %\n  95 % interval of the mean: 7.57 to 8.88 %\n"));
  BOOST_TEST(!test::contains(summary_table(summary_of({run_with(1, {0.1})})), "interval"));
  const Summary equal = summary_of({run_with(1, {0.1}), run_with(2, {0.1})});
  BOOST_TEST(test::contains(summary_table(equal), "no interval of the mean"));
}

// Errors of three seeds. Student's interval on the plain scale holds the mean of the skewed ones in 88.5 %.
BOOST_AUTO_TEST_CASE(the_interval_of_the_mean_holds_it) {
  constexpr int kStudies = 2000;
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal(0.08, 0.004);
  std::exponential_distribution<double> skewed(1 / 0.08);
  const auto held = [&](auto& error) {
    int count = 0;
    for (int study = 0; study < kStudies; ++study) {
      const MeanEnds ends = mean_of({error(bits), error(bits), error(bits)})->interval(true).value();
      BOOST_REQUIRE((ends.low > 0 && ends.high < 1));
      count += ends.low <= 0.08 && 0.08 <= ends.high;
    }
    return 100.0 * count / kStudies;
  };
  for (const double share : {held(normal), held(skewed)}) {
    BOOST_TEST(share >= 93.5);
    BOOST_TEST(share <= 96.5);
  }
}

BOOST_AUTO_TEST_CASE(a_run_counts_by_the_median_of_its_last_five) {
  BOOST_TEST(*median_of_last(run_with(1, {9, 9, 9, 1, 2, 3, 5, 4})) == 3);
  BOOST_TEST(*median_of_last(run_with(1, {1, 2, 9})) == 2);
  BOOST_TEST(!median_of_last(run_with(1, {1, kNotANumber})));
  BOOST_TEST(!median_of_last(RunReport{}));
}

BOOST_AUTO_TEST_CASE(diverged_runs_are_no_part_of_the_mean) {
  const Summary two = summary_of({run_with(1, {0.10}), diverged(2), run_with(3, {0.14})}, 1);
  BOOST_TEST(two.last->mean == 0.12, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(two.last->count == 2u);
  BOOST_TEST(two.diverged == 1u);
  BOOST_TEST(goal_text(two, two.last) == "12.00 +- 2.83 % (1 of 3 diverged)");
  const Summary none = summary_of({diverged(1), diverged(2)});
  BOOST_TEST(goal_text(none, none.last) == "diverged");
  BOOST_TEST(goal_text(summary_of({}), std::nullopt) == "-");
}

// A run may end without a figure and yet not be diverged. Errors are in percent, and a score's sign makes it one.
BOOST_AUTO_TEST_CASE(what_is_not_finite_is_no_part_of_the_mean) {
  RunReport odd = run_with(2, {0.3});
  odd.result = odd.evaluations[0].train_loss = kNotANumber;
  const Summary two = summary_of({run_with(1, {0.10}), odd});
  BOOST_TEST(two.last->mean == 0.10);
  BOOST_TEST(two.last->count == 1u);
  BOOST_TEST(two.train_loss->mean == 0.25);
  RunReport score = run_with(3, {0.5});
  score.goal_kind = {.is_share = false, .higher_is_better = true};
  const std::vector<double> errors = final_errors(summary_of({run_with(1, {0.25}), odd, diverged(2), score}));
  BOOST_TEST(errors == (std::vector<double>{25, HUGE_VAL, HUGE_VAL, -0.5}));
}

BOOST_AUTO_TEST_CASE(json_has_each_run_and_null_for_what_is_not_finite) {
  RunReport odd = diverged(2);
  odd.result = odd.loss = kNotANumber;
  const auto json = nlohmann::json::parse(summary_json(summary_of({run_with(1, {0.2, 0.1}), odd}), "./run r"));
  BOOST_TEST(json["command"] == "./run r");
  BOOST_TEST(json["runs"].size() == 2u);
  BOOST_TEST(json["runs"][0]["error"] == 0.1);
  BOOST_TEST(json["runs"][0]["folder"] == "seed-1");
  BOOST_TEST(json["runs"][1]["error"].is_null());
  BOOST_TEST(json["runs"][1]["diverged"] == true);
  BOOST_TEST(json["final"]["mean"] == 0.1);
  BOOST_TEST(json["final"]["stddev"].is_null());
  BOOST_TEST(json["final"]["interval"].is_null());
  BOOST_TEST(json["final"]["count"] == 1);
  RunReport by_loss = run_with(1, {0.5});
  by_loss.goal = "loss";
  by_loss.loss = by_loss.result;
  BOOST_TEST(test::count_of(summary_json(summary_of({by_loss}), ""), "\"loss\": 0.5") == 1u);
}

BOOST_AUTO_TEST_CASE(json_says_the_part_of_the_figures_at_the_end) {
  RunReport tested = run_with(1, {0.1});
  tested.part = "valid";
  RunReport judged = tested;
  judged.result_part = "valid";  // there is no test part
  const auto json_of = [](const RunReport& run) {
    return nlohmann::json::parse(summary_json(summary_of({run}), "./run r"));
  };
  for (const auto& [run, part] : {std::pair{tested, std::string("test")}, {judged, "valid"}}) {
    const nlohmann::json json = json_of(run);
    BOOST_TEST(json.at("evaluated_on") == "valid");
    BOOST_TEST(json.at("final").value("part", "") == part);
    BOOST_TEST(json.at("runs").at(0).value("part", "") == part);
  }
  BOOST_TEST(json_of(diverged(2)).at("final").is_null());
}

BOOST_AUTO_TEST_CASE(seeds_are_ranges_and_numbers) {
  const auto seeds = [](const char* text) { return parse_seeds("--seeds", text); };
  BOOST_TEST(seeds("1..3,7") == (std::vector<int64_t>{1, 2, 3, 7}));
  BOOST_TEST(seeds("5") == (std::vector<int64_t>{5}));
  for (const char* wrong : {"", "3..1", "1..3,2", "a", "1..", "..3", "1...3", "0..1000", "-1", "4294967296"})
    BOOST_CHECK_EXCEPTION(seeds(wrong), Error, test::says("--seeds"));
}

BOOST_AUTO_TEST_CASE(an_epoch_counts_by_its_last_evaluation) {
  RunReport run;
  for (int i = 1; i <= 12; ++i) run.evaluations.push_back({10 * i, i / 2.0, 1, static_cast<double>(i), 1});
  BOOST_TEST(*median_of_last(run) == 8);  // 4, 6, 8, 10, 12 after epochs 2 to 6
  for (EvaluationPoint& point : run.evaluations) point.epoch *= 1 + 1e-15;
  BOOST_TEST(*median_of_last(run) == 8);
  run.evaluations.resize(4);
  run.evaluations.push_back({130, kNotANumber, 1, 99, 1});  // of a damaged line
  BOOST_TEST(*median_of_last(run) == 3);                    // 2 and 4
}

// Without --out a command goes on with the newest study that is not finished, if it began with these trials or has just
// these.
BOOST_AUTO_TEST_CASE(a_study_without_a_name_is_found_by_its_trials) {
  const test::TemporaryDirectory directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  const Trial one{"seed-1", {"--lr", "0.1"}}, two{"seed-2", {"--lr", "0.1"}};
  const auto folder_of = [](const std::vector<Trial>& trials) { return open_study("s", "", trials, 4).folder; };
  const fs::path folder = folder_of({one});
  BOOST_TEST((folder_of({one}) == folder));
  open_study("s", folder.string(), {one, two}, 4);
  BOOST_TEST((folder_of({one}) == folder));
  BOOST_TEST((folder_of({one, two}) == folder));
  for (const Trial& other : {Trial{"seed-1", {"--lr", "0.2"}}, Trial{"seed-3", {"--lr", "0.1"}}})
    BOOST_TEST((folder_of({other}) != folder));
  test::write_file(folder / kStudySummary, "");
  BOOST_TEST((folder_of({one}) != folder));
  std::string text = test::read_file(folder / "study.json");
  text.replace(text.find("\"first\": 1"), 10, "\"first\": 9");
  test::write_file(folder / "study.json", text);
  BOOST_TEST(open_study("s", folder.string(), {one}, 4).first == 2u);
  fs::current_path(before);
}

BOOST_AUTO_TEST_CASE(a_study_grows_and_refuses_other_flags) {
  const test::TemporaryDirectory directory;
  const std::string out = (directory / "study").string();
  const Trial one{"seed-1", {"--lr", "0.1", "--seed", "1"}}, two{"seed-2", {"--lr", "0.1", "--seed", "2"}};
  open_study("s", out, {one}, 4);
  BOOST_TEST((open_study("s", out, {one, two}, 8).trials == std::vector<Trial>{one, two}));
  const Study whole = open_study("s", out, {two}, 8);
  BOOST_TEST(whole.trials.size() == 2u);
  BOOST_TEST(whole.shards == 4);  // the study keeps the shards with which it began
  BOOST_TEST(whole.first == 1u);
  const Trial moved{"seed-2", {"--data", "elsewhere", "--lr", "0.1", "--seed", "2"}};
  BOOST_TEST((open_study("s", out, {moved}, 4).trials == std::vector<Trial>{one, moved}));
  BOOST_CHECK_EXCEPTION(open_study("s", out, {{"seed-2", {"--lr", "0.2", "--seed", "2"}}}, 4), Error,
                        test::says("trial seed-2\n  expected: --lr 0.1\n  got:      --lr 0.2"));
  test::write_file(directory / "file", "");
  BOOST_CHECK_EXCEPTION(open_study("s", directory.path().string(), {}, 4), Error,
                        test::says("expected a new or empty folder"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::summary_test
