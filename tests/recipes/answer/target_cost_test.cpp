// Tests the time to a target on a cluster: the steps follow from the fit of a study, the seconds of a step from a
// forecast that the program `scale` wrote.
#include "recipes/answer/target_cost.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "graph/error.h"
#include "recipes/answer/side_by_side.h"
#include "recipes/answer/study_answer.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::target_cost_test {
namespace {

const auto kExact = boost::test_tools::tolerance(1e-12);

// A step takes 10 ms on any number of workers by halving and doubling; by the ring it takes 20 ms on up to 4 workers
// and 5 ms on 8.
std::vector<ScaleLine> forecast_lines() {
  std::vector<ScaleLine> lines = {{Algorithm::halving_doubling, {}}, {Algorithm::ring, {}}};
  for (int workers = 1; workers <= 8; workers *= 2) {
    const double minibatch = 32.0 * workers;
    lines[0].rows.push_back({workers, minibatch, 0.01, 0.001, 0.0005, minibatch / 0.01, 1, 1, 0.0095});
    const double step = workers == 8 ? 0.005 : 0.02;
    lines[1].rows.push_back({workers, minibatch, step, 0.001, 0.0005, minibatch / step, 1, 1, step - 0.0005});
  }
  return lines;
}

std::string forecast_text() {
  return scale_json(forecast_lines(), 60000, {"net, 32 samples a worker", "timed", "nodes of 8"});
}

ScalingLaw law(double s_min, double b_crit) { return {s_min, b_crit, 1}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(target_costs)

BOOST_AUTO_TEST_CASE(a_forecast_is_read_again_by_its_fastest_algorithm) {
  const ScaleForecast forecast = parse_scale_json(forecast_text(), "forecast.json");
  BOOST_TEST(forecast.title == "net, 32 samples a worker");
  BOOST_TEST(forecast.nodes == "nodes of 8");
  BOOST_TEST(forecast.policy == "--policy sync");
  BOOST_REQUIRE(forecast.rows.size() == 4u);
  const std::vector<double> steps = {0.01, 0.01, 0.01, 0.005};
  for (size_t i = 0; i < steps.size(); ++i) {
    BOOST_TEST(forecast.rows[i].workers == 1 << i);
    BOOST_TEST(forecast.rows[i].minibatch == 32.0 * (1 << i), kExact);
    BOOST_TEST(forecast.rows[i].step == steps[i], kExact);
    BOOST_TEST(forecast.rows[i].compute == steps[i] - 0.0005, kExact);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_forecast_is_refused) {
  const auto refuses = [](const std::string& text, const std::string& part) {
    BOOST_CHECK_EXCEPTION(parse_scale_json(text, "forecast.json"), Error, test::says("forecast.json", part));
  };
  refuses("{}", "title");
  refuses("[", "line 1");
  refuses(R"({"title": "a", "nodes": "b", "forecasts": []})", "a forecast with a row at least");
  std::string bad = forecast_text();
  bad.replace(bad.find("\"step_s\": 0.01"), 14, "\"step_s\": -1.0");
  refuses(bad, "a number > 0");
  bad = forecast_text();
  bad.replace(bad.find("\"compute_s\": 0.0095"), 19, "\"compute_s\": 0");
  refuses(bad, "a number > 0");
  std::vector<ScaleLine> lines = forecast_lines();
  for (ScaleLine& line : lines) line.rows.erase(line.rows.begin());
  refuses(scale_json(lines, 60000, {"a", "b", "c"}), "a row with 1 worker");
  bad = forecast_text();
  bad.replace(bad.find("\"workers\": 1"), 12, "\"workers\": 0");
  refuses(bad, "a whole number in [1, ");
}

BOOST_AUTO_TEST_CASE(time_is_steps_of_the_fit_times_the_seconds_of_a_step) {
  const ClusterCost cost = target_cost(law(100, 64), parse_scale_json(forecast_text(), "forecast.json"), {8, 128});
  // 100 (1 + 64 / B) steps of 10 ms take 3, 2 and 1.5 s on 1, 2 and 4 workers; on 8 workers 125 steps take 0.625 s, at
  // the ring's 5 ms.
  const std::vector<double> seconds = {3, 2, 1.5, 0.625};
  BOOST_REQUIRE(cost.rows.size() == 4u);
  for (size_t i = 0; i < seconds.size(); ++i) {
    BOOST_TEST(cost.rows[i].seconds == seconds[i], kExact);
    BOOST_TEST(cost.rows[i].samples == cost.rows[i].steps * 32 * (1 << i), kExact);
    BOOST_TEST(cost.rows[i].is_measured == (i < 3));
  }
  BOOST_TEST(cost.fastest == 3u);
  BOOST_TEST(cost.paying == 3u);  // the doublings save 33, 25 and 58 % of the time
  BOOST_TEST(test::contains(cost_table(cost), "*"));
  BOOST_TEST(test::contains(cost_sentence(cost), "the least time, 0.6 s, on 8 workers"));
  std::istringstream lines(cost_table(cost));
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
}

BOOST_AUTO_TEST_CASE(workers_stop_to_pay_where_the_minibatch_does) {
  const ClusterCost cost = target_cost(law(100, 16), parse_scale_json(forecast_text(), "forecast.json"), {8, 256});
  BOOST_TEST(cost.paying == 0u);  // 1.5 s on one worker, 1.25 s on two
  BOOST_TEST(cost.fastest == 3u);
  BOOST_TEST(test::contains(cost_sentence(cost),
                            "on 8 workers (minibatch 256); each doubling of the workers up to 1 saves 25 %"));
  BOOST_TEST(!test::contains(cost_sentence(cost), "*"));
}

// A forecast of an older version has neither a policy nor seconds of compute.
BOOST_AUTO_TEST_CASE(a_forecast_without_a_policy_is_synchronous) {
  const ScaleForecast forecast = parse_scale_json(
      R"({"title": "a", "nodes": "b", "forecasts": [{"algorithm": "ring", "rows": [{"workers": 1, "minibatch": 32,
          "step_s": 0.3, "communication_s": 0.2, "exposed_s": 0.1, "samples_per_s": 1, "efficiency": 1}]}]})",
      "forecast.json");
  BOOST_TEST(forecast.policy == "--policy sync");
  BOOST_TEST(forecast.rows[0].compute == 0.2, kExact);
}

BOOST_AUTO_TEST_CASE(a_policy_is_told_beside_the_time) {
  const std::string text =
      scale_json(forecast_lines(), 60000, {"net", "timed", "nodes of 8", "--policy local --every 16"});
  const ClusterCost cost = target_cost(law(100, 64), parse_scale_json(text, "forecast.json"), {8, 256});
  BOOST_TEST(test::contains(cost_sentence(cost), "by --policy local --every 16: the runs"));
  const ClusterCost sync = target_cost(law(100, 64), parse_scale_json(forecast_text(), "forecast.json"), {8, 256});
  BOOST_TEST(!test::contains(cost_sentence(sync), "--policy"));
}

BOOST_AUTO_TEST_CASE(without_a_fit_there_is_no_cost) {
  AnswerOptions options;
  options.forecast = parse_scale_json(forecast_text(), "forecast.json");
  const std::vector<Measurement> runs = {{8, {}, {}, 100, false, {}, {}}, {16, {}, {}, 60, false, {}, {}}};
  BOOST_CHECK_EXCEPTION(answer_study(runs, options), Error, test::says("--cluster", "3 minibatches or more"));
}

BOOST_AUTO_TEST_CASE(a_study_that_missed_its_target_leaves_the_costs_of_others) {
  AnswerOptions options;
  options.forecast = parse_scale_json(forecast_text(), "forecast.json");
  const std::vector<Measurement> runs = {
      {8, {}, {}, 100, false, {}, {}}, {16, {}, {}, 60, false, {}, {}}, {32, {}, {}, 40, false, {}, {}}};
  const std::vector<Measurement> missed = {{8, {}, {}, {}, true, {}, {}}};
  const std::vector<AnswerFigure> figures = side_by_side_figures(
      {{"a", answer_study(runs, options), {}, {}}, {"b", answer_or_missed(missed, options), {}, {}}});
  BOOST_TEST(figures.back().name == "cluster");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::target_cost_test
