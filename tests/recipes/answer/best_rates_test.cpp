// Tests which rate of a minibatch is the best one, if runs were given up before the target.
#include "recipes/answer/best_rates.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "recipes/answer/study_answer.h"
#include "tests/recipes/answer/study_cases.h"

namespace kb::best_rates_test {

using study_answer_test::table_runs;

BOOST_AUTO_TEST_SUITE(best_rates)

// At rate 0.2 three seeds of five are luckier than those of 0.1, but two were given up at ten times the steps. The mean
// over all five, by which S is told, is above 100.
BOOST_AUTO_TEST_CASE(a_rate_at_which_runs_were_given_up_is_compared_by_all_of_them) {
  const StudyAnswer answer =
      answer_study(table_runs("minibatch,rate,seed,steps,reached\n"
                              "8,0.1,1,100,1\n8,0.1,2,100,1\n8,0.1,3,100,1\n8,0.1,4,100,1\n8,0.1,5,100,1\n"
                              "8,0.2,1,90,1\n8,0.2,2,90,1\n8,0.2,3,90,1\n8,0.2,4,1000,0\n8,0.2,5,1000,0\n"),
                   {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.1);
  BOOST_TEST(answer.best[0].steps == 100, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(!answer.best[0].rate_interval.value().has_low());
  BOOST_TEST(answer.best[0].rate_interval->high == 0.1);
}

BOOST_AUTO_TEST_CASE(a_rate_at_which_most_runs_were_given_up_is_not_as_good) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,rate,seed,steps,reached\n"
                                                     "8,0.1,1,100,1\n8,0.1,2,104,1\n8,0.1,3,99,1\n"
                                                     "8,0.2,1,101,1\n8,0.2,2,1000,0\n8,0.2,3,1000,0\n"
                                                     "8,0.4,1,1000,0\n8,0.4,2,1000,0\n8,0.4,3,1000,0\n"),
                                          {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.1);
  BOOST_TEST(answer.best[0].rate_interval.value().high == 0.1);
}

// One of three seeds was given up near the others' steps: with their sigma its mean is below that of the other rate.
BOOST_AUTO_TEST_CASE(a_run_that_was_given_up_does_not_rule_a_rate_out) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,rate,seed,steps,reached\n"
                                                     "8,0.1,1,100,1\n8,0.1,2,110,1\n8,0.1,3,120,0\n"
                                                     "8,0.2,1,200,1\n8,0.2,2,220,1\n8,0.2,3,210,1\n"),
                                          {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.1);
  BOOST_TEST(answer.best[0].steps > geometric_mean(std::vector<double>{100, 110, 120}));
}

// Seeds scatter by a fifth. A run that was stopped at 1.25 times the fewest steps is not told from the best one by
// that, nor is a rate beyond another that was unlucky.
BOOST_AUTO_TEST_CASE(a_rate_at_which_the_run_was_stopped_early_is_as_good) {
  const std::string seeds = "minibatch,rate,seed,steps,reached\n8,0.1,1,100,1\n8,0.1,2,125,1\n8,0.1,3,80,1\n";
  const auto high = [&](const std::string& others) {
    return answer_study(table_runs(seeds + others), {}).best[0].rate_interval.value().high;
  };
  BOOST_TEST(high("8,0.2,1,125,0\n8,0.4,1,1000,0\n") == 0.2);
  BOOST_TEST(high("8,0.2,1,1000,0\n8,0.4,1,118,1\n8,0.8,1,1000,0\n") == 0.4);
}

// Both seeds of all rates scatter by e^0.2, as in study_answer_test.cpp: the means of two seeds have to differ by 7.570
// sigma = 1.0706. A rate that is not known has no place in the interval.
BOOST_AUTO_TEST_CASE(seeds_of_all_rates_tell_them_apart_better) {
  std::string table = "minibatch,rate,seed,steps\n";
  for (const int minibatch : {8, 16})
    for (const auto& [rate, steps] : {std::pair{"0.1", 0.0}, {"0.05", 1.06}, {"0.025", 1.08}, {"", 2.0}})
      for (const int seed : {1, 2})
        table += fmt::format("{},{},{},{}\n", minibatch, rate, seed, 100 * std::exp(steps + 0.2 * (seed - 1)));
  const BestResult one = answer_study(table_runs(table), {}).best[0];
  BOOST_TEST(one.best.rate.value() == 0.1);
  BOOST_TEST(one.rate_interval.value().low == 0.05);
  const std::string runs = "minibatch,rate,seed,steps\n8,0.1,1,100\n8,0.1,2,110\n8,,1,105\n8,,2,115\n";
  BOOST_TEST(!answer_study(table_runs(runs), {}).best[0].rate_interval);
}

// Twelve rates lie in a range of 64 times around the best one, at which a factor of two costs 15 % of the steps. One
// seed of each is trained until 1.25 times the fewest steps, then two more of the best one.
BOOST_AUTO_TEST_CASE(the_interval_of_rates_holds_the_best_one) {
  constexpr int kMinibatches = 200, kRates = 12, kBest = 5;
  constexpr double kSigma = 0.2, kCurvature = 0.3, kHopeless = 1.25;
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  const auto rate = [](int i) { return std::pow(64, (i - kBest) / 12.0); };
  const auto steps = [&](int i) {
    return 1e4 * std::exp(kCurvature * std::pow(std::log(rate(i)), 2) + kSigma * normal(bits));
  };
  std::vector<Measurement> runs;
  for (int64_t minibatch = 1; minibatch <= kMinibatches; ++minibatch) {
    const auto add = [&](int i, int64_t seed, double needed, double most) {
      Measurement run{.minibatch = minibatch, .rate = rate(i), .seed = seed, .steps = {}};
      if (needed <= most) run.steps = needed;
      run.samples = std::min(needed, most) * static_cast<double>(minibatch);
      runs.push_back(run);
    };
    std::vector<double> first;
    for (int i = 0; i < kRates; ++i) first.push_back(steps(i));
    const auto least = std::min_element(first.begin(), first.end());
    for (int i = 0; i < kRates; ++i) add(i, 1, first[static_cast<size_t>(i)], kHopeless * *least);
    const int chosen = static_cast<int>(least - first.begin());
    for (const int64_t seed : {2, 3}) add(chosen, seed, steps(chosen), 1e9);
  }
  const std::vector<MinibatchResults> all = results_by_minibatch(runs);
  const std::vector<std::optional<BestRate>> best = kb::best_rates(all);
  std::vector<StepsToTarget> measured;
  for (size_t i = 0; i < all.size(); ++i)
    measured.push_back(all[i].rates[best[i].value().place].steps_to_target(all[i].minibatch));
  const PooledSteps pooled = pooled_steps(measured);
  int held = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const ConfidenceInterval as_good = rate_interval(all[i], all[i].rates[best[i]->place], pooled).value();
    held += as_good.low <= rate(kBest) && rate(kBest) <= as_good.high;
  }
  BOOST_TEST(held >= 190);
}

// The fewest steps lie between rates that are equally good, so that none of these bounds the best rate.
BOOST_AUTO_TEST_CASE(the_middle_of_tied_rates_is_the_best) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,rate,steps\n8,0.1,10\n8,0.2,10\n8,0.3,10\n"
                                                     "16,0.1,5\n16,0.2,5\n32,0.1,4\n32,0.2,6\n"),
                                          {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.2);
  BOOST_TEST((!answer.best[0].is_least && !answer.best[0].is_greatest));
  BOOST_TEST((!answer.best[1].is_least && !answer.best[1].is_greatest));
  BOOST_TEST(answer.best[1].best.rate.value() == 0.1);
  BOOST_TEST(answer.best[2].is_least);
}

// All rates have seed 1. Half of the runs at 0.1 diverged, then two of three.
BOOST_AUTO_TEST_CASE(a_rate_counts_where_at_most_half_of_all_its_runs_diverged) {
  const std::string runs = "minibatch,rate,seed,steps,diverged\n8,0.1,1,100,0\n8,0.1,2,,1\n8,0.2,1,200,0\n";
  BOOST_TEST(answer_study(table_runs(runs), {}).best[0].best.rate.value() == 0.1);
  BOOST_TEST(answer_study(table_runs(runs + "8,0.1,3,,1\n"), {}).best[0].best.rate.value() == 0.2);
}

BOOST_AUTO_TEST_CASE(a_rate_with_half_as_many_runs_does_not_count) {
  const std::string runs = "minibatch,rate,seed,steps\n8,0.1,1,200\n8,0.1,2,210\n8,0.2,3,100\n";
  BOOST_TEST(answer_study(table_runs(runs), {}).best[0].best.rate.value() == 0.1);
}

BOOST_AUTO_TEST_CASE(settings_that_tie_at_one_rate_leave_it_the_least) {
  const StudyAnswer answer = answer_study(
      table_runs("minibatch,rate,setting,steps\n8,0.1,nesterov=0,10\n8,0.1,nesterov=1,10\n8,0.2,nesterov=0,20\n"), {});
  BOOST_TEST(answer.best[0].is_least);
}

BOOST_AUTO_TEST_CASE(seconds_are_known_where_all_runs_have_them) {
  const auto seconds = [](const char* last) {
    const std::string runs = "minibatch,rate,seed,steps,seconds\n8,0.1,1,10,5\n8,0.1,2,12,";
    return answer_study(table_runs(runs + last + "\n"), {}).best[0].best.seconds;
  };
  BOOST_TEST(seconds("7").value() == 6);
  BOOST_TEST(!seconds(""));
}

// Twenty seeds of each minibatch know the law well; one run takes 0.6 more of log S by chance in 5 %.
BOOST_AUTO_TEST_CASE(a_run_by_chance_contradicts_no_law) {
  ScalingFit fit;
  fit.s_min.value = 100, fit.b_crit.value = 64;
  std::vector<StepsToTarget> runs;
  for (const int64_t minibatch : {8, 16, 32, 64}) {
    runs.push_back({minibatch});
    for (int i = 0; i < 20; ++i)
      runs.back().steps.push_back(fit.steps_at(static_cast<double>(minibatch)) * std::exp(i % 2 == 0 ? 0.3 : -0.3));
  }
  const auto contradicted = [&](double log_excess) {
    const LeastSteps missed{128, 150 * std::exp(log_excess)};
    return contradictions(pooled_steps(runs), fit, {&missed, 1}).size();
  };
  BOOST_TEST(contradicted(0.5) == 0u);
  BOOST_TEST(contradicted(1) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::best_rates_test
