// What a study of minibatches answers: from measurements of a known law to numbers, words, files, figures and page.
#include "recipes/answer/study_answer.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <tuple>

#include "graph/error.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "recipes/answer/measurements.h"
#include "recipes/charts/scatter_chart.h"
#include "recipes/papers/reference_points.h"
#include "runtime/options.h"
#include "runtime/process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::study_answer_test {
namespace {

constexpr double kLawSteps = 200, kLawCritical = 150;

// Minibatches 8 to 2048 by two, rates a factor of two apart around a best one that follows the square root. Away from
// the best rate a run takes more steps; at four times it diverges; at a sixteenth it does not reach the target. The
// best rate has three seeds, a little apart; all others have one.
std::vector<Measurement> law_runs() {
  std::vector<Measurement> runs;
  for (int64_t minibatch = 8; minibatch <= 2048; minibatch *= 2) {
    const double steps = kLawSteps * (1 + kLawCritical / static_cast<double>(minibatch));
    const double best = 0.1 * std::sqrt(static_cast<double>(minibatch) / 8);
    for (int octave = -4; octave <= 2; ++octave) {
      Measurement run{minibatch, best * std::exp2(octave), 1, {}, octave == 2, {}, {}};
      if (octave > -4 && octave < 2) run.steps = steps * (1 + 0.2 * octave * octave);
      runs.push_back(run);
    }
    for (const auto& [seed, factor] : {std::pair{2, 1.03}, {3, 1 / 1.03}})
      runs.push_back({minibatch, best, seed, steps * factor, false, {}, {}});
  }
  return runs;
}

const StudyAnswer& law_answer() {
  static const StudyAnswer answer = answer_study(law_runs(), {});
  return answer;
}

const AnswerSource kSource = {"./run study 'runs <1>.csv'", "runs <1>.csv"};

std::vector<Measurement> table_runs(const std::string& table) {
  return parse_measurement_table(table, "runs.csv").runs;
}

// Steps of the reference's runs of ResNet-50, a seed each.
std::vector<Measurement> reference_runs() {
  constexpr double kImageNetSamples = 1281167;
  std::vector<Measurement> runs;
  for (const ReferencePoint& point : reference_points())
    for (const double epochs : point.epochs)
      runs.push_back({point.minibatch,
                      point.rate,
                      {},
                      epochs * kImageNetSamples / static_cast<double>(point.minibatch),
                      false,
                      {},
                      {}});
  return runs;
}

std::string figure_of(const StudyAnswer& answer, const std::string& name) {
  for (const AnswerFigure& figure : answer_figures(answer))
    if (figure.name == name) return figure.svg;
  return "";
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

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
  BOOST_TEST((region(1) == ScalingRegion::perfect));      // 16
  BOOST_TEST((region(2) == ScalingRegion::diminishing));  // 32
  BOOST_TEST((region(6) == ScalingRegion::diminishing));  // 512
  BOOST_TEST((region(7) == ScalingRegion::no_gain));
  BOOST_TEST(answer.slopes.size() == 8u);
  BOOST_TEST(answer.slopes[0] == std::log((8 + kLawCritical / 2) / (8 + kLawCritical)) / std::log(2), near);
}

BOOST_AUTO_TEST_CASE(a_lucky_run_of_a_rate_at_which_others_diverged_is_not_the_best) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,rate,seed,steps,diverged\n"
                                                     "8,0.1,1,100,0\n8,0.1,2,110,0\n8,0.1,3,120,0\n"
                                                     "8,0.2,1,105,0\n"                           // alone
                                                     "8,0.4,1,80,0\n8,0.4,2,,1\n8,0.4,3,,1\n"),  // one of three
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
  BOOST_TEST(answer_text(answer).find("Best with momentum=0.9 at minibatch 8 (rate / (1 - momentum) 1)") !=
             std::string::npos);
  BOOST_TEST(answer_csv(answer).find("\n8,0.1,momentum=0.9,500,") != std::string::npos);
  // The map has a cell a rate: of its settings the best.
  const std::vector<AnswerFigure> figures = answer_figures(answer);
  BOOST_TEST(figures.back().name == "rate_map");
  BOOST_TEST(count_of(figures.back().svg, "<title>rate ") == 6u);
}

// A sweep gives its best rate further seeds, which say how far chance goes and not whether it is the best.
BOOST_AUTO_TEST_CASE(rates_are_compared_by_the_seeds_that_all_have) {
  const StudyAnswer answer =
      answer_study(table_runs("minibatch,rate,seed,steps,reached\n8,0.1,1,100,1\n8,0.1,2,300,0\n8,0.2,1,120,1\n"), {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.1);
  // It was given up at 300 steps, and two runs do not tell by how much seeds scatter: a bound from below.
  BOOST_TEST(answer.best[0].steps == std::sqrt(100.0 * 300), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(!answer.best[0].interval);
  BOOST_TEST(answer.best[0].best.runs == 2u);
  // Equal rates: the one with further seeds is the best.
  const StudyAnswer equal =
      answer_study(table_runs("minibatch,rate,seed,steps\n8,0.1,1,100\n8,0.2,1,100\n8,0.2,2,300\n"), {});
  BOOST_TEST(equal.best[0].best.rate.value() == 0.2);
}

// Pairs of seeds apart by a factor of e^0.2: sigma = 0.2 / sqrt(2) on two degrees of freedom, whose 97.5 % point in
// Student's t is 4.303; of single runs log steps have to differ by 4.303 sigma sqrt(2) = 0.861 to be told apart.
BOOST_AUTO_TEST_CASE(rates_that_seeds_do_not_tell_from_the_best_are_an_interval) {
  std::string table = "minibatch,rate,seed,steps\n";
  for (const int minibatch : {8, 16})
    for (const auto& [rate, seed, steps] :
         {std::tuple{0.1, 1, 0.0}, {0.1, 2, 0.2}, {0.05, 1, 0.85}, {0.025, 1, 0.87}, {0.2, 1, 0.8}, {0.4, 1, 0.7}})
      table += fmt::format("{},{},{},{}\n", minibatch, rate, seed, 100 * std::exp(steps));
  const BestResult one = answer_study(table_runs(table), {}).best[0];
  BOOST_TEST(one.best.rate.value() == 0.1);
  BOOST_TEST(one.rate_interval.value().low == 0.05);
  BOOST_TEST(!one.rate_interval.value().has_high());  // rates were tried no further
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
  BOOST_TEST(answer.no_fit.find("here are 2") != std::string::npos, answer.no_fit);
  BOOST_REQUIRE(answer.missed.size() == 1u);
  BOOST_TEST(answer.missed[0].minibatch == 32);
  BOOST_TEST(!answer.missed[0].least_steps);
  BOOST_TEST(!answer.best[0].linear_rate);
  BOOST_TEST(answer_figures(answer).size() == 3u);
  const std::string text = answer_text(answer);
  for (const char* part : {"No critical minibatch", "not reached at minibatch 32"})
    BOOST_TEST(text.find(part) != std::string::npos, text);
  BOOST_TEST(text.find("best rate") == std::string::npos);
  BOOST_TEST(answer_json(answer, kSource).find("\"missing\"") != std::string::npos);
}

// At rate 0.1 a run went on to 900 steps, at 0.2 to 700: the best takes 700 at least. What diverged bounds nothing.
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
    BOOST_TEST(text.find(part) != std::string::npos, text);
  BOOST_TEST(answer_csv(answer).find("\n32,,,,700,,,,,,,,,,4,0,\n") != std::string::npos, answer_csv(answer));
  const std::vector<AnswerFigure> figures = answer_figures(answer);
  BOOST_TEST(figures[0].svg.find(">not reached<") != std::string::npos);
  BOOST_TEST(answer_page(answer, kSource, figures).find("&ge;&nbsp;700") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_says_nothing_is_refused) {
  BOOST_CHECK_EXCEPTION(answer_study(table_runs("minibatch,steps\n8,\n16,\n"), {}), Error,
                        test::says("none of 2, in 2 runs"));
  BOOST_CHECK_EXCEPTION(answer_study(law_runs(), {.base_minibatch = 9}), Error, test::says("base minibatch", "8, 16"));
}

BOOST_AUTO_TEST_CASE(the_base_minibatch_is_a_choice) {
  const StudyAnswer answer = answer_study(law_runs(), {.base_minibatch = 64});
  BOOST_TEST(answer.base_result().minibatch == 64);
  BOOST_TEST(answer.base_result().efficiency == 1);
  BOOST_TEST(answer.best[0].linear_rate.value() == answer.base_result().best.rate.value() / 8,
             boost::test_tools::tolerance(1e-9));
  // Regions are of the fit: all bases have the same.
  for (size_t i = 0; i < answer.best.size(); ++i)
    BOOST_TEST((answer.region_of(answer.best[i]) == law_answer().region_of(law_answer().best[i])));
}

// Of all 137 runs of the reference, where a run weighs by its minibatch's mean.
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
  const std::string perfect =
      answer_text(answer_study(table_runs("minibatch,steps\n8,1600\n16,800\n32,400\n64,200\n"), {}));
  for (const char* part : {"B_crit is a bound: it is at least", "gain ends at", "or above", "The law is not tested"})
    BOOST_TEST(perfect.find(part) != std::string::npos, perfect);
  const std::string flat = answer_text(
      answer_study(table_runs("minibatch,rate,steps\n8,1,100\n8,2,120\n16,2,100\n16,1,110\n32,1,100\n32,2,101\n"), {}));
  for (const char* part : {"B_crit is a bound: it is at most", ">= 2", "<= 1", "or below"})
    BOOST_TEST(flat.find(part) != std::string::npos, flat);
}

// Minibatches so near to each other, and so many rates, that cells have no room.
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

BOOST_AUTO_TEST_CASE(the_files_are_read_again) {
  const std::string csv = answer_csv(law_answer());
  const Measurements again = parse_measurement_table(csv, "study.csv");
  BOOST_TEST(again.runs.size() == 9u);
  const StudyAnswer answer = answer_study(again.runs, {});
  BOOST_TEST(answer.fit.value().of_one.value().b_crit.value == kLawCritical, boost::test_tools::tolerance(1e-6));

  const nlohmann::json json = nlohmann::json::parse(answer_json(law_answer(), kSource));
  BOOST_TEST(json.at("fit").at("b_crit").at("value").get<double>() == kLawCritical, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(json.at("fit").at("b_crit").at("low").get<double>() < kLawCritical);
  BOOST_TEST(json.at("fit").at("gain_ends").at("value").get<double>() == 600, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(json.at("fit_with_k_1").at("k").at("value") == 1);
  BOOST_TEST(json.at("law_test").at("rejected") == false);
  BOOST_TEST(json.at("minibatches").size() == 9u);
  BOOST_TEST(json.at("minibatches").at(0).at("rates").size() == 7u);
  BOOST_TEST(json.at("minibatches").at(0).at("best").at("region") == "perfect scaling");
}

BOOST_AUTO_TEST_CASE(measurements_are_written_as_they_are_read) {
  std::vector<Measurement> runs = law_runs();
  for (Measurement& run : runs) run.samples = 1000;
  runs[0].setting = "a, \"b\"";
  runs[1].seed.reset();
  runs[2].rate.reset();
  const std::vector<Measurement> again = table_runs(measurement_table(runs));
  BOOST_REQUIRE(again.size() == runs.size());
  const auto near = boost::test_tools::tolerance(1e-8);
  for (size_t i = 0; i < runs.size(); ++i) {
    BOOST_TEST(again[i].minibatch == runs[i].minibatch);
    BOOST_TEST(again[i].setting == runs[i].setting);
    BOOST_TEST(again[i].diverged == runs[i].diverged);
    BOOST_TEST((again[i].seed == runs[i].seed));
    BOOST_TEST(again[i].rate.has_value() == runs[i].rate.has_value());
    BOOST_TEST(again[i].rate.value_or(0) == runs[i].rate.value_or(0), near);
    BOOST_TEST(again[i].steps.has_value() == runs[i].steps.has_value());
    BOOST_TEST(again[i].steps.value_or(0) == runs[i].steps.value_or(0), near);
    if (!runs[i].steps) BOOST_TEST(again[i].samples.value() == 1000, near);
  }
}

BOOST_AUTO_TEST_CASE(the_page_holds_all_and_loads_nothing) {
  const std::vector<AnswerFigure> figures = answer_figures(law_answer());
  BOOST_REQUIRE(figures.size() == 5u);
  const std::string page = answer_page(law_answer(), kSource, figures);
  for (const char* part : {"runs &lt;1&gt;.csv", "name=\"viewport\"", "width=device-width", "max-width:100%", "B_crit",
                           "Best learning rate", "diminishing returns", "E(B) = E_min + S_min B"})
    BOOST_TEST(page.find(part) != std::string::npos, part);
  for (const char* part : {"https:", "<script", "<link", "@import", "src=", "href=", "url("})
    BOOST_TEST(page.find(part) == std::string::npos, part);
  // The name of SVG is no address that anything asks for.
  BOOST_TEST(count_of(page, "http:") == figures.size());
  BOOST_TEST(count_of(page, "xmlns=\"http://www.w3.org/2000/svg\"") == figures.size());
}

BOOST_AUTO_TEST_CASE(figures_show_every_minibatch_and_rate) {
  const std::vector<AnswerFigure> figures = answer_figures(law_answer());
  const auto svg = [&](const std::string& name) {
    for (const AnswerFigure& figure : figures)
      if (figure.name == name) return figure.svg;
    throw Error("no figure " + name);
  };
  for (const char* name : {"steps", "samples", "efficiency", "rates"})
    BOOST_TEST(count_of(svg(name), "<title>minibatch ") == 9u);
  BOOST_TEST(count_of(svg("rate_map"), "<title>rate ") == 63u);
  BOOST_TEST(count_of(svg("rate_map"), "1 diverged</title>") == 9u);
  for (const char* region : {"perfect scaling<", "diminishing returns<", "no gain<"})
    BOOST_TEST(svg("steps").find(region) != std::string::npos, region);
  for (const AnswerFigure& figure : figures) {
    BOOST_TEST(figure.svg.find("nan") == std::string::npos);
    BOOST_TEST(figure.svg.find("inf") == std::string::npos);
  }
}

// The fit at the left end of the axis, and the interval of a lucky set of seeds, lie above 100 %.
BOOST_AUTO_TEST_CASE(efficiency_beyond_a_hundred_per_cent_is_drawn) {
  std::vector<Measurement> runs = law_runs();
  for (Measurement& run : runs)
    if (run.minibatch == 16 && run.steps && run.seed != 1) *run.steps *= 0.6;
  const StudyAnswer answer = answer_study(runs, {});
  const std::string svg = figure_of(answer, "efficiency");
  const std::regex tick(R"RE(text-anchor="end"[^>]*>([0-9.]+)</text>)RE"),
      fit(R"RE(points="([0-9.]+),([0-9.]+) [^"]*" stroke="#0072b2")RE");
  double most = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), tick), end; at != end; ++at)
    most = std::max(most, std::stod((*at)[1]));
  const BestResult& lucky = answer.best[1];
  const double upper = 100 * answer.base_result().samples / (16 * lucky.interval.value().low);
  BOOST_TEST(upper > 100);
  BOOST_TEST(most >= upper);
  BOOST_TEST(most >= 100 * answer.base_result().samples / answer.fit->answer.samples_at(8 / 1.3));
  std::smatch points;
  BOOST_REQUIRE(std::regex_search(svg, points, fit));
  BOOST_TEST(std::stod(points[1]) == 66);  // from the left end of the axis on
}

// The best rate has further seeds; its cell has those that all other rates have, too.
BOOST_AUTO_TEST_CASE(a_map_compares_runs_of_the_same_seeds) {
  const std::string table =
      "minibatch,rate,seed,steps,diverged\n"
      "8,0.1,1,100,0\n8,0.1,2,160,0\n8,0.1,3,170,0\n8,0.2,1,110,0\n8,0.4,1,,1\n";
  const StudyAnswer answer = answer_study(table_runs(table), {});
  BOOST_TEST(answer.best[0].best.runs == 3u);
  const MinibatchResults alike = of_common_seeds(answer.all[0]);
  BOOST_TEST((alike.rates[0].steps == std::vector<double>{100}));
  BOOST_TEST(alike.rates[0].runs == 1u);
  BOOST_TEST(alike.rates[2].diverged == 1u);
  const std::string map = figure_of(answer, "rate_map");
  BOOST_TEST(map.find("1 of 1 runs reached the target, 0 diverged; 100 steps") != std::string::npos);
  BOOST_TEST(map.find(">100</text>") != std::string::npos);
  BOOST_TEST(map.find("same seeds") != std::string::npos);
  // Where no seed is common to all, every run counts.
  const StudyAnswer apart =
      answer_study(table_runs("minibatch,rate,seed,steps\n8,0.1,1,100\n8,0.1,2,160\n8,0.2,3,110\n"), {});
  BOOST_TEST(of_common_seeds(apart.all[0]).rates[0].runs == 2u);
}

// A legend as long as a sweep over many minibatches has it.
BOOST_AUTO_TEST_CASE(no_entry_of_a_legend_passes_the_edge) {
  constexpr double kRight = 520, kLetters = 12;
  std::vector<ChartEntry> entries = {{"target"}};
  for (int minibatch = 8; minibatch <= 65536; minibatch *= 2) entries.push_back({fmt::to_string(minibatch)});
  Svg svg(kRight, 100);
  draw_entries(svg, 16, 46, kRight, entries);
  const std::string text = svg.str();
  const std::regex words(R"RE(<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*)</text>)RE");
  size_t found = 0;
  std::map<double, double> end_of_line;  // by its y
  for (std::sregex_iterator at(text.begin(), text.end(), words), end; at != end; ++at, ++found) {
    BOOST_TEST((*at)[3] == entries[found].words);
    double& last = end_of_line[std::stod((*at)[2])];
    BOOST_TEST(std::stod((*at)[1]) > last);
    last = std::stod((*at)[1]) + text_width((*at)[3].str(), kLetters);
    BOOST_TEST(last < kRight);
  }
  BOOST_TEST(found == entries.size());
  BOOST_TEST(end_of_line.size() == 3u);
}

BOOST_AUTO_TEST_CASE(the_tool_leaves_a_folder) {
  const test::TemporaryDirectory directory;
  std::string table = "minibatch,rate,seed,steps,diverged,host\n";
  for (const Measurement& run : law_runs())
    table += fmt::format("{},{},{},{},{:d},a\n", run.minibatch, *run.rate, *run.seed,
                         run.steps ? fmt::to_string(*run.steps) : "", run.diverged);
  test::write_file(directory / "runs.csv", table);
  const auto study = [](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {std::string(KB_BIN) + "/study"};
    argv.insert(argv.end(), words.begin(), words.end());
    return Process(argv).wait();
  };
  const ProcessResult result = study({(directory / "runs.csv").string()});
  BOOST_REQUIRE(result.status == 0);
  for (const char* part : {"81 runs", "columns that are not read: host", "B_crit, samples       150", "runs-study"})
    BOOST_TEST(result.output.find(part) != std::string::npos, result.output);
  for (const char* name : {"study.csv", "runs.csv", "study.json", "study.html", "steps.svg", "samples.svg",
                           "efficiency.svg", "rates.svg", "rate_map.svg"})
    BOOST_TEST(std::filesystem::exists(directory / "runs-study" / name), name);
  if (RuntimeOptions::from_environment().rsvg_convert.empty()) {
    BOOST_TEST_MESSAGE("SKIPPED: PNG and PDF, for want of rsvg-convert");
    BOOST_TEST(result.output.find("no PNG and no PDF: rsvg-convert is not installed") != std::string::npos,
               result.output);
  } else {
    for (const std::string name : {"steps", "samples", "rates", "rate_map"}) {
      BOOST_TEST(test::read_file(directory / "runs-study" / (name + ".png")).starts_with("\x89PNG"));
      BOOST_TEST(test::read_file(directory / "runs-study" / (name + ".pdf")).starts_with("%PDF"));
    }
    BOOST_TEST(!std::filesystem::exists(directory / "runs-study" / "steps.png.tmp"));
  }
  const ProcessResult no_folder =
      study({(directory / "runs.csv").string(), "--out", (directory / "runs.csv/a").string()});
  BOOST_TEST(no_folder.status == 1);
  BOOST_TEST(no_folder.output.find("--out: cannot make the folder") != std::string::npos, no_folder.output);
  BOOST_TEST(study({"/nowhere.csv"}).status == 1);
  test::write_file(directory / "bad.csv", "minibatch,steps\n8,many\n");
  const ProcessResult bad = study({(directory / "bad.csv").string()});
  BOOST_TEST(bad.status == 1);
  BOOST_TEST(bad.output.find("bad.csv:2: steps\n  expected: ") != std::string::npos, bad.output);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::study_answer_test
