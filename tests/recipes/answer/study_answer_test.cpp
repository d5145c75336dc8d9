// The answer of a study of minibatches: from measurements of a known law to numbers and words.
#include "tests/recipes/answer/study_cases.h"

#include <boost/test/unit_test.hpp>

namespace kb::study_answer_test {

BOOST_AUTO_TEST_SUITE(study_answer)

BOOST_AUTO_TEST_CASE(the_best_rate_of_each_minibatch) {
  const StudyAnswer& answer = law_answer();
  BOOST_REQUIRE(answer.best.size() == 9u);
  BOOST_TEST(answer.missed.empty());
  const auto near = boost::test_tools::tolerance(1e-9);
  for (const BestResult& one : answer.best) {
    const double expected = 0.1 * std::sqrt(static_cast<double>(one.minibatch) / 8);
    BOOST_TEST(one.best.rate.value() == expected, near);
    BOOST_TEST(one.square_root_rate.value() == expected, near);
    BOOST_TEST(one.linear_rate.value() == 0.1 * static_cast<double>(one.minibatch) / 8, near);
    BOOST_TEST(one.diverged_from.value() == 4 * expected, near);
    BOOST_TEST(one.best.steps.size() == 3u);
    BOOST_TEST(one.steps == kLawSteps * (1 + kLawCritical / static_cast<double>(one.minibatch)), near);
    BOOST_TEST(one.samples == one.steps * static_cast<double>(one.minibatch), near);
    BOOST_TEST(one.interval.value().low < one.steps);
    BOOST_TEST(one.interval.value().high > one.steps);
    BOOST_TEST((!one.is_least && !one.is_greatest));
  }
  BOOST_TEST(answer.best[0].efficiency == 1);
  BOOST_TEST(answer.best[4].efficiency == (8 + kLawCritical) / (128 + kLawCritical), near);
}

BOOST_AUTO_TEST_CASE(the_law_is_found) {
  const StudyAnswer& answer = law_answer();
  const auto near = boost::test_tools::tolerance(1e-4);
  BOOST_TEST(answer.fit.value().answer.s_min.value == kLawSteps, near);
  BOOST_TEST(answer.fit->answer.b_crit.value == kLawCritical, near);
  BOOST_TEST(answer.fit->answer.k.value().value == 1, near);
  BOOST_TEST(answer.fit->of_one.value().b_crit.value == kLawCritical, near);
  BOOST_TEST(!answer.fit->test.value().rejects());
  BOOST_TEST(answer.line.value().b_crit().value() == kLawCritical, boost::test_tools::tolerance(1e-6));
  // Perfect scaling ends at 0.2 B_crit = 30, gain at 4 B_crit = 600.
  const auto region = [&](size_t i) { return answer.region_of(answer.best[i]).value(); };
  BOOST_TEST((region(1) == ScalingRegion::perfect));      // minibatch 16
  BOOST_TEST((region(2) == ScalingRegion::diminishing));  // minibatch 32
  BOOST_TEST((region(6) == ScalingRegion::diminishing));  // minibatch 512
  BOOST_TEST((region(7) == ScalingRegion::no_gain));
  BOOST_TEST(answer.slopes.size() == 8u);
  BOOST_TEST(answer.slopes[0] == std::log((8 + kLawCritical / 2) / (8 + kLawCritical)) / std::log(2), near);
}

BOOST_AUTO_TEST_CASE(a_lucky_run_of_a_rate_at_which_others_diverged_is_not_the_best) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,rate,seed,steps,diverged\n"
                                                     "8,0.1,1,100,0\n8,0.1,2,110,0\n8,0.1,3,120,0\n"
                                                     "8,0.2,1,105,0\n"                           // one seed alone
                                                     "8,0.4,1,80,0\n8,0.4,2,,1\n8,0.4,3,,1\n"),  // one seed of three
                                          {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.1);
  BOOST_TEST(answer.best[0].diverged_from.value() == 0.4);
  BOOST_TEST(answer.best[0].is_least);
  BOOST_TEST(!answer.best[0].is_greatest);
}

BOOST_AUTO_TEST_CASE(runs_of_other_settings_are_not_pooled) {
  std::string table = "minibatch,rate,setting,seed,steps\n";
  for (const int minibatch : {8, 16, 32})
    table += fmt::format("{0},0.1,momentum=0.5,1,{1}\n{0},0.1,momentum=0.9,1,{2}\n{0},0.2,momentum=0.9,1,{1}\n",
                         minibatch, 8000 / minibatch, 4000 / minibatch);
  const StudyAnswer answer = answer_study(table_runs(table), {});
  for (const BestResult& one : answer.best) {
    BOOST_TEST(one.steps == 4000.0 / static_cast<double>(one.minibatch), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(one.best.setting == "momentum=0.9");
    BOOST_TEST((one.is_least && !one.is_greatest));
    BOOST_TEST(one.effective_rate.value() == 1, boost::test_tools::tolerance(1e-9));
  }
  BOOST_TEST(test::contains(answer_text(answer), "Best with momentum=0.9 at minibatch 8 (rate / (1 - momentum) 1)"));
  BOOST_TEST(test::contains(answer_csv(answer), "\n8,0.1,momentum=0.9,500,"));
  // The map has one cell for each minibatch and rate, which shows the best of the settings.
  const std::vector<AnswerFigure> figures = answer_figures(answer);
  BOOST_TEST(figures.back().name == "rate_map");
  BOOST_TEST(count_of(figures.back().svg, "<title>rate ") == 6u);
}

// A sweep trains its best rate under further seeds. They tell how much chance matters; the best rate is chosen by the
// seeds that all rates have.
BOOST_AUTO_TEST_CASE(rates_are_compared_by_the_seeds_that_all_have) {
  const StudyAnswer answer =
      answer_study(table_runs("minibatch,rate,seed,steps,reached\n8,0.1,1,100,1\n8,0.1,2,300,0\n8,0.2,1,120,1\n"), {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.1);
  // Seed 2 was given up at 300 steps, so that the geometric mean of both seeds is a lower bound, without an interval.
  BOOST_TEST(answer.best[0].steps == std::sqrt(100.0 * 300), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!answer.best[0].interval);
  BOOST_TEST(answer.best[0].best.runs == 2u);
  // If two rates take equally many steps, the one with further seeds is the best.
  const StudyAnswer equal =
      answer_study(table_runs("minibatch,rate,seed,steps\n8,0.1,1,100\n8,0.2,1,100\n8,0.2,2,300\n"), {});
  BOOST_TEST(equal.best[0].best.rate.value() == 0.2);
}

// At each of two minibatches two seeds differ by a factor of e^0.2 in their steps: the log steps have sigma = 0.2 /
// sqrt(2) on 1.293 degrees of freedom (mean_steps_test.cpp), for which Student's t has its 97.5 % point at 7.570. The
// log steps of two single runs have to differ by 7.570 sigma sqrt(2) = 1.514 to be told apart.
BOOST_AUTO_TEST_CASE(rates_that_seeds_do_not_tell_from_the_best_are_an_interval) {
  std::string table = "minibatch,rate,seed,steps\n";
  for (const int minibatch : {8, 16})
    for (const auto& [rate, seed, steps] :
         {std::tuple{0.1, 1, 0.0}, {0.1, 2, 0.2}, {0.05, 1, 1.5}, {0.025, 1, 1.53}, {0.2, 1, 0.8}, {0.4, 1, 0.7}})
      table += fmt::format("{},{},{},{}\n", minibatch, rate, seed, 100 * std::exp(steps));
  const BestResult one = answer_study(table_runs(table), {}).best[0];
  BOOST_TEST(one.best.rate.value() == 0.1);
  BOOST_TEST(one.rate_interval.value().low == 0.05);
  BOOST_TEST(!one.rate_interval.value().has_high());  // no higher rate is told from the best one
  BOOST_TEST(!answer_study(table_runs("minibatch,rate,steps\n8,0.1,100\n8,0.2,120\n"), {}).best[0].rate_interval);
}

BOOST_AUTO_TEST_CASE(slopes_of_ranges_are_regressions) {
  // log2 S = 10, 9, 8.3 at minibatches 8, 16, 32: slope -0.85, residuals -0.05, 0.1, -0.05.
  const StudyAnswer answer =
      answer_study(table_runs(fmt::format("minibatch,steps\n8,{}\n16,{}\n32,{}\n", 1024.0, 512.0, std::exp2(8.3))), {});
  BOOST_REQUIRE(!answer.slopes_of_ranges.empty());
  const SlopeOfSteps& slope = answer.slopes_of_ranges.back();
  BOOST_TEST(slope.first == 8);
  BOOST_TEST(slope.last == 32);
  BOOST_TEST(slope.slope == -0.85, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(slope.standard_error == std::sqrt(0.015 / 2), boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(without_rates_and_with_few_minibatches) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,steps\n8,100\n16,60\n32,\n"), {});
  BOOST_TEST(!answer.fit);
  BOOST_TEST(test::contains(answer.no_fit, "here are 2"));
  BOOST_REQUIRE(answer.missed.size() == 1u);
  BOOST_TEST(answer.missed[0].minibatch == 32);
  BOOST_TEST(!answer.missed[0].least_steps);
  BOOST_TEST(!answer.best[0].linear_rate);
  BOOST_TEST(answer_figures(answer).size() == 3u);
  const std::string text = answer_text(answer);
  for (const char* part : {"No critical minibatch", "not reached at minibatch 32"})
    BOOST_TEST(test::contains(text, part));
  BOOST_TEST(!test::contains(text, "best rate"));
  BOOST_TEST(test::contains(answer_json(answer, kSource), "\"missing\""));
}

// At minibatch 32 the longest run at rate 0.1 was given up after 900 steps, that at 0.2 after 700: the best rate takes
// 700 steps at least. A run that diverged bounds nothing.
BOOST_AUTO_TEST_CASE(where_no_run_reached_the_target_its_steps_are_bounded) {
  const StudyAnswer answer = answer_study(
      table_runs("minibatch,rate,seed,steps,reached,diverged\n8,0.1,1,100,1,0\n32,0.1,1,600,0,0\n32,0.1,2,900,0,0\n"
                 "32,0.2,1,700,0,0\n32,0.4,1,30,0,1\n"),
      {});
  BOOST_REQUIRE(answer.missed.size() == 1u);
  BOOST_TEST(answer.missed[0].least_steps.value() == 700);
  BOOST_TEST(answer.missed[0].runs == 4u);
  BOOST_TEST(answer.missed[0].diverged == 1u);
  const std::string text = answer_text(answer);
  for (const char* part : {"700  or more: not reached in 4 runs, 1 diverged", "at minibatch 32 (>= 700 steps)"})
    BOOST_TEST(test::contains(text, part));
  BOOST_TEST(test::contains(answer_csv(answer), "\n32,,,,700,,,,,,,,,,4,0,\n"));
  const std::vector<AnswerFigure> figures = answer_figures(answer);
  BOOST_TEST(test::contains(figures[0].svg, ">not reached<"));
  BOOST_TEST(test::contains(answer_page(answer, kSource, figures), "&ge;&nbsp;700"));
}

// At minibatch 64 half of the runs reached the target, in fewer steps than the others had taken when given up.
BOOST_AUTO_TEST_CASE(a_minibatch_that_half_of_the_runs_reached_is_not_bounded) {
  std::string table =
      "minibatch,rate,seed,steps,reached\n64,0.1,1,110,1\n64,0.1,2,500,0\n64,0.2,1,120,1\n64,0.2,2,500,0\n";
  for (const int minibatch : {8, 16, 32})
    for (const int seed : {1, 2})
      table += fmt::format("{},0.1,{},{},1\n", minibatch, seed, 6400 / minibatch + 10 * seed);
  const StudyAnswer answer = answer_study(table_runs(table), {});
  BOOST_REQUIRE(answer.missed.size() == 1u);
  BOOST_TEST(answer.missed[0].reached == 2u);
  BOOST_TEST(!answer.missed[0].least_steps);
  const std::string text = answer_text(answer);
  BOOST_TEST(test::contains(text, "64       -  reached in 2 of 4 runs (110 to 120 steps)\n"));
  for (const char* part : {"not reached", "500"}) BOOST_TEST(!test::contains(text, part), text);
  BOOST_TEST(test::contains(answer_csv(answer), ",,,,,4,2,\n"));
  BOOST_TEST(test::contains(answer_page(answer, kSource, {}), "2&nbsp;of&nbsp;4"));
}

// The law of four minibatches that halve their steps has 50 and 25 steps at the next two, where 400 were not enough.
BOOST_AUTO_TEST_CASE(a_law_that_missed_minibatches_contradict_says_nothing_beyond) {
  // The cluster has 1 to 8 workers with 32 samples each.
  ScaleForecast forecast{"net", "nodes of 8", "--policy sync", {}};
  for (const int workers : {1, 2, 4, 8})
    forecast.rows.push_back({.workers = workers, .minibatch = 32.0 * workers, .step = 0.01});
  const auto study = [&](double given_up) {
    std::string table = "minibatch,rate,seed,steps,reached\n";
    for (const int minibatch : {8, 16, 32, 64, 128, 256})
      for (const int seed : {1, 2})
        table += fmt::format("{},0.1,{},{},{:d}\n", minibatch, seed,
                             minibatch > 64 ? given_up : 6400.0 / minibatch + seed, minibatch <= 64);
    return answer_study(table_runs(table), {.forecast = forecast});
  };
  const StudyAnswer answer = study(400);
  BOOST_REQUIRE(answer.contradicted.size() == 2u);
  BOOST_TEST(answer.contradicted[0].fitted == 50, boost::test_tools::tolerance(0.1));
  const ScalingFit& fit = answer.fit->answer;
  for (const Estimate* place : {&fit.b_crit, &fit.perfect_end, &fit.gain_end}) {
    BOOST_TEST(place->interval.low <= 64);
    BOOST_TEST(!place->interval.has_high());
  }
  BOOST_TEST(fit.s_min.interval.high >= 101);
  const std::string text = answer_text(answer);
  for (const char* part : {"NOTE: runs that were given up contradict the fitted law", "above 64 is withheld"})
    BOOST_TEST(test::contains(text, part));
  BOOST_TEST(!test::contains(text, "may all lie"), text);
  BOOST_TEST(answer.cluster.value().rows.size() == 2u);  // no steps beyond minibatch 64
  // Runs that were given up before the steps of the law contradict nothing.
  const StudyAnswer agrees = study(24);
  BOOST_TEST(agrees.contradicted.empty());
  BOOST_TEST(!test::contains(answer_text(agrees), "NOTE"));
}

// Up to the last minibatch, 64, an interval stays. The least steps may be as many as were measured there.
BOOST_AUTO_TEST_CASE(what_a_fit_says_beyond_the_last_minibatch_is_withheld) {
  const auto withheld = [](MeanSteps last, double b_crit_high) {
    ScalingFit fit;
    fit.s_min.interval = {50, 80};
    fit.b_crit.interval = {20, b_crit_high}, fit.perfect_end.interval = {10, 40}, fit.gain_end.interval = {30, 64};
    withhold_beyond(last, fit);
    BOOST_TEST(fit.perfect_end.interval.high == 40);
    BOOST_TEST(fit.gain_end.interval.high == 64);
    BOOST_TEST(fit.b_crit.interval.low == 20);
    BOOST_TEST(fit.b_crit.interval.has_high() == (b_crit_high <= 64));
    return fit.s_min.interval.high;
  };
  const MeanSteps alone{.minibatch = 64, .steps = 90};
  MeanSteps between = alone;
  between.interval = ConfidenceInterval{85, 95};
  BOOST_TEST(withheld(alone, 65) == 90);
  BOOST_TEST(withheld(between, 65) == 95);
  BOOST_TEST(withheld({.minibatch = 64, .steps = 70}, 65) == 80);
  BOOST_TEST(withheld(between, 64) == 80);
}

BOOST_AUTO_TEST_CASE(what_says_nothing_is_refused) {
  BOOST_CHECK_EXCEPTION(answer_study(table_runs("minibatch,steps\n8,\n16,\n"), {}), Error,
                        test::says("none of 2, in 2 runs, of which 0 diverged"));
  BOOST_CHECK_EXCEPTION(answer_study(table_runs("minibatch,steps,diverged\n8,10,1\n16,9,1\n"), {}), Error,
                        test::says("none of 2, in 2 runs, of which all diverged"));
  BOOST_CHECK_EXCEPTION(answer_study(law_runs(), {.base_minibatch = 9}), Error, test::says("base minibatch", "8, 16"));
}

BOOST_AUTO_TEST_CASE(the_base_minibatch_is_a_choice) {
  const StudyAnswer answer = answer_study(law_runs(), {.base_minibatch = 64});
  BOOST_TEST(answer.base_result().minibatch == 64);
  BOOST_TEST(answer.base_result().efficiency == 1);
  BOOST_TEST(answer.best[0].linear_rate.value() == answer.base_result().best.rate.value() / 8,
             boost::test_tools::tolerance(1e-9));
  // The regions follow from the fit, so that they are the same for all bases.
  for (size_t i = 0; i < answer.best.size(); ++i)
    BOOST_TEST((answer.region_of(answer.best[i]) == law_answer().region_of(law_answer().best[i])));
}

// All 137 runs of MLPerf's reference count, each relative to the mean of its minibatch.
BOOST_AUTO_TEST_CASE(mlperfs_runs) {
  const StudyAnswer answer = answer_study(reference_runs(), {});
  BOOST_TEST(std::abs(answer.line.value().e_min / 1281167 - 34.5) < 1);
  BOOST_TEST(answer.line->b_crit().value() == 46000, boost::test_tools::tolerance(0.1));
  const ScalingFit& of_one = answer.fit.value().of_one.value();
  BOOST_TEST(std::abs(of_one.e_min.value / 1281167 - 34.5) < 1);
  BOOST_TEST(of_one.b_crit.value == 46000, boost::test_tools::tolerance(0.1));
  BOOST_TEST(of_one.b_crit.interval.low < 46000);
  BOOST_TEST(of_one.b_crit.interval.high > 46000);
}

BOOST_AUTO_TEST_CASE(the_text_fits_a_terminal) {
  for (const StudyAnswer& answer : {law_answer(), answer_study(reference_runs(), {})}) {
    std::istringstream lines(answer_text(answer));
    for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
  }
  test::golden("study_answer.txt", answer_text(answer_study(reference_runs(), {})));
}

BOOST_AUTO_TEST_CASE(bounds_are_told) {
  const auto text_of = [](const std::string& table) { return answer_text(answer_study(table_runs(table), {})); };
  const std::string perfect = text_of("minibatch,steps\n8,1600\n16,800\n32,400\n64,200\n128,101\n256,50\n");
  for (const char* part : {"B_crit is a bound: it is at least", "gain ends at", "or above"})
    BOOST_TEST(test::contains(perfect, part));
  const std::string flat = text_of(
      "minibatch,rate,steps\n8,1,100\n8,2,120\n16,2,100\n16,1,110\n32,1,100\n32,2,101\n64,1,99\n128,1,100\n256,1,"
      "101\n");
  for (const char* part : {"B_crit is a bound: it is at most", ">= 2", "<= 1", "or below"})
    BOOST_TEST(test::contains(flat, part));
}

BOOST_AUTO_TEST_CASE(fewer_minibatches_than_free_k_have_intervals_that_assume_it) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,steps\n8,1600\n16,820\n32,400\n64,250\n"), {});
  const std::string text = answer_text(answer);
  for (const char* part : {"95 % if k = 1\n", "The law is not tested", "intervals are 95 % if k = 1,"})
    BOOST_TEST(test::contains(text, part));
  for (const char* part : {"perfect scaling ends", "gain ends"}) BOOST_TEST(!test::contains(text, part), text);
  BOOST_TEST(test::contains(answer_page(answer, kSource, answer_figures(answer)), "95 % if k = 1"));
  const nlohmann::json fit = nlohmann::json::parse(answer_json(answer, kSource)).at("fit");
  BOOST_TEST(fit.at("intervals") == "95 % if k = 1");
  for (const char* member : {"value", "low", "high"}) BOOST_TEST(fit.at("gain_ends").at(member).is_null());
  BOOST_TEST(!test::contains(answer_text(law_answer()), "if k = 1"));
}

BOOST_AUTO_TEST_CASE(an_unknown_number_is_not_outside_of_an_interval) {
  const auto text_of = [](const std::string& table) { return answer_text(answer_study(table_runs(table), {})); };
  const std::string flat = text_of("minibatch,steps\n8,100\n16,100\n32,100\n64,100\n");
  BOOST_TEST(test::contains(flat, "B_crit unknown."));
  // Samples that do not grow, but for rounding, have no B_crit either.
  const std::string perfect = text_of("minibatch,steps\n8,12800\n16,6400\n32,3200\n64,1600\n128,800\n256,400\n");
  BOOST_TEST(test::contains(perfect, "B_crit unknown."));
}

BOOST_AUTO_TEST_CASE(steps_that_say_nothing_of_the_ends_have_no_regions) {
  const StudyAnswer answer =
      answer_study(table_runs("minibatch,steps\n8,300\n16,500\n32,100\n64,400\n128,150\n256,350\n512,90\n"), {});
  const std::string text = answer_text(answer);
  BOOST_TEST(test::contains(text, "say nothing of B_crit"));
  for (const BestResult& one : answer.best) BOOST_TEST(!answer.region_of(one));
  const std::string steps = figure_of(answer, "steps");
  for (const char* part : {"diminishing returns<", "no gain<", "B_crit"})
    BOOST_TEST(!test::contains(steps, part), steps);
}

// The minibatches are so near to each other, and the rates so many, that the map's cells have no room.
BOOST_AUTO_TEST_CASE(a_crowded_study_is_drawn) {
  std::vector<Measurement> runs;
  for (int64_t minibatch = 1000; minibatch < 1400; minibatch += 4)
    for (int i = 1; i <= 40; ++i)
      runs.push_back({minibatch, 0.1 * (1 + 1e-4 * i), i, 1e6 / static_cast<double>(minibatch), false, {}, {}});
  for (const AnswerFigure& figure : answer_figures(answer_study(runs, {}))) {
    BOOST_TEST(count_of(figure.svg, "=\"-") == 0u);
    BOOST_TEST(count_of(figure.svg, "nan") == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::study_answer_test
