// Tests the step at which a run crosses its target, which is estimated between two evaluations.
#include "recipes/answer/target_noise.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::target_crossing_test {
namespace {

// Returns a run whose error after s steps is 0.01 + s^-power, evaluated after 1.1^k steps, k = 0, 1, ..., up to the
// first error below the target.
RunReport simulated(double target, double power) {
  RunReport run;
  int64_t before = 0;
  for (double at = 1; !run.target_step; at *= 1.1) {
    const auto step = static_cast<int64_t>(std::ceil(at));
    if (step == before) continue;
    before = step;
    const double error = 0.01 + std::pow(static_cast<double>(step), -power);
    run.evaluations.push_back({step, 0, 3 * error, error, 0});
    if (error < target) run.target_step = step;
  }
  return run;
}

double true_crossing(double target, double power) { return std::pow(target - 0.01, -1 / power); }

}  // namespace

BOOST_AUTO_TEST_SUITE(target_crossing_suite)

BOOST_AUTO_TEST_CASE(the_first_evaluation_behind_it_is_late_and_the_crossing_is_not) {
  for (const double power : {0.5, 1.0}) {
    double late = 0, bias = 0;
    constexpr int kTargets = 200;
    for (int i = 0; i < kTargets; ++i) {
      const double target = 0.03 * std::pow(1.5, static_cast<double>(i) / kTargets);
      const RunReport run = simulated(target, power);
      const double crossing = target_crossing(run, {"error", target});
      late += std::log(static_cast<double>(*run.target_step) / true_crossing(target, power)) / kTargets;
      bias += std::log(crossing / true_crossing(target, power)) / kTargets;
      BOOST_TEST(std::abs(std::log(crossing / true_crossing(target, power))) < 0.01);
      BOOST_TEST(crossing == target_crossing(run, {"loss", 3 * target}), boost::test_tools::tolerance(1e-9));
    }
    BOOST_TEST(late > 0.04);
    BOOST_TEST(std::abs(bias) < 0.002);
  }
}

BOOST_AUTO_TEST_CASE(without_an_evaluation_before_it_stays_the_step) {
  RunReport run;
  run.target_step = 10;
  BOOST_TEST(target_crossing(run, {"error", 0.1}) == 10);
  run.evaluations = {{10, 0, 1, 0.05, 0}};
  BOOST_TEST(target_crossing(run, {"error", 0.1}) == 10);
  run.evaluations = {{0, 0, 1, 0.9, 0}, {10, 0, 1, 0.05, 0}};  // the first evaluation is before the first step
  BOOST_TEST(target_crossing(run, {"error", 0.1}) == 10);
  run.evaluations = {{8, 0, 1, std::nan(""), 0}, {10, 0, 1, 0.05, 0}};
  BOOST_TEST(target_crossing(run, {"error", 0.1}) == 10);
  run.evaluations = {{8, 0, 1, 0.15, 0}, {10, 0, 1, 0.05, 0}};
  BOOST_TEST(target_crossing(run, {"error", 0.1}) == std::sqrt(80.0), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(target_crossing(run, {"top5", 0.1}) == 10);  // the evaluations do not have this metric
}

BOOST_AUTO_TEST_CASE(any_figure_of_the_evaluations_can_be_another_target) {
  RunReport run;
  run.metric_kinds["top5"] = {.is_share = true, .higher_is_better = true};
  for (const int64_t step : {0, 4, 8, 16}) {
    const auto share = static_cast<double>(step) / 16;
    run.evaluations.push_back({step, 0, 2 - share, 1 - share, 0, {{"top5", share}, {"ema_loss", 3 - share}}});
  }
  BOOST_TEST(step_reaching(run, {"loss", 1.6}).value() == 8);
  BOOST_TEST(step_reaching(run, {"error", 0.5}).value() == 16);  // strictly better
  BOOST_TEST(step_reaching(run, {"top5", 0.3}).value() == 8);
  BOOST_TEST(step_reaching(run, {"ema_loss", 2.6}).value() == 8);
  BOOST_TEST(step_reaching(run, {"loss", 3}).value() == 4);  // no run is there before its first step
  BOOST_TEST(!step_reaching(run, {"loss", 1}));
  BOOST_TEST(!step_reaching(run, {"top1", 0.5}));
  run.target_step = 8;
  BOOST_TEST(target_crossing(run, {"top5", 0.375}) == std::sqrt(32.0), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(target_crossing(run, {"ema_loss", 2.625}) == std::sqrt(32.0), boost::test_tools::tolerance(1e-9));
}

// The error falls as 1 / steps, so that a deviation of 12.7 % of the target is 12.7 % of the steps.
BOOST_AUTO_TEST_CASE(a_small_part_knows_its_target_badly) {
  RunReport run;
  run.metric_kinds["error"] = {.is_share = true};
  run.target_step = 1010;
  run.evaluations = {{990, 0, 1, 30.0 / 990, 0}, {1010, 0, 1, 30.0 / 1010, 0}};
  const std::optional<TargetNoise> noise = target_noise({"error", 0.03}, 2000, {&run, 1});
  BOOST_REQUIRE(noise.has_value());
  BOOST_TEST(noise->deviation == std::sqrt(0.03 * 0.97 / 2000), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(noise->shift == noise->deviation / 0.03, boost::test_tools::tolerance(1e-3));
  for (EvaluationPoint& point : run.evaluations) point.others["ema_error"] = point.goal;
  BOOST_TEST(target_noise({"ema_error", 0.03}, 2000, {&run, 1}).value().shift == noise->shift);
  BOOST_TEST(!target_noise({"loss", 0.03}, 2000, {&run, 1}));
  BOOST_TEST(!target_noise({"error", 0.03}, 0, {&run, 1}));
  BOOST_TEST(!target_noise({"error", 0.03}, 2000, {}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::target_crossing_test
