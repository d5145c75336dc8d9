// Several studies on one page: ratios, what is not comparable, and that nothing is lost.
#include "recipes/answer/side_by_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/error.h"
#include "recipes/answer/measurements.h"
#include "runtime/process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::side_by_side_test {
namespace {

// Returns a table of runs at the minibatches B = 8, 16, ..., 1024 under three seeds. A run takes S_min (1 + 100 / B)
// steps, up to 3 % more or less by its seed, at the best rate 0.5 / (1 + 64 / B).
std::string table_of(double s_min) {
  std::string table = "minibatch,rate,seed,steps\n";
  for (int i = 0; i < 8; ++i)
    for (int seed = 1; seed <= 3; ++seed) {
      const double minibatch = std::exp2(3 + i), chance = 1 + 0.03 * std::sin(7 * i + 3 * seed);
      table += fmt::format("{},{},{},{}\n", minibatch, 0.5 / (1 + 64 / minibatch), seed,
                           s_min * (1 + 100 / minibatch) * chance);
    }
  return table;
}

NamedStudy study_of(const std::string& name, double s_min) {
  const Measurements table = parse_measurement_table(table_of(s_min), name);
  return {name, answer_study(table.runs, {}), {}, effort_of(table.runs)};
}

StudyHead head_of(const std::string& target, const std::string& data) {
  return {{{"target", target}, {"data", data}, {"--draws", "2"}}, {}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(side_by_side)

BOOST_AUTO_TEST_CASE(ratios_are_against_the_first) {
  const std::vector<NamedStudy> studies = {study_of("momentum", 100), study_of("nadamw", 200)};
  const nlohmann::json json = nlohmann::json::parse(side_by_side_json(studies, "./run study A B"));
  const nlohmann::json ratio = json["studies"][1]["ratio_of_s_min"];
  BOOST_TEST(ratio["value"].get<double>() == 2, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(ratio["low"].get<double>() < 2);
  BOOST_TEST(ratio["low"].get<double>() > 1.5);
  BOOST_TEST(ratio["high"].get<double>() > 2);
  BOOST_TEST(!json["studies"][0].contains("ratio_of_s_min"));
  BOOST_TEST(json["studies"][1]["rate_law"]["noise_batch"].get<double>() == 64, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(json["studies"][1]["runs"].get<int>() == 24);
  std::istringstream lines(side_by_side_text(studies));
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
}

// The best rates follow the law, so that their scatter is that of rates which were tried at intervals: the ends lie as
// many times farther away, in logarithms, as the intervals are wider. A side without a rate has no part in that.
BOOST_AUTO_TEST_CASE(rates_far_apart_tell_less_of_their_law) {
  const auto reach = [](const std::vector<double>& tried) {
    std::string table = "minibatch,rate,steps\n";
    for (double minibatch = 8; minibatch <= 1024; minibatch *= 2)
      for (const double times : tried)
        table += fmt::format("{},{},{}\n", minibatch, times * 0.5 / (1 + 64 / minibatch), times == 1 ? 100 : 150);
    const NamedStudy study{"a", answer_study(parse_measurement_table(table, "a").runs, {}), {}, {}};
    const nlohmann::json law = nlohmann::json::parse(side_by_side_json({study, study}, ""))["studies"][0]["rate_law"];
    return std::log(law["noise_batch_interval"]["high"].get<double>() / law["noise_batch"].get<double>());
  };
  const double twice = reach({1 / 1.44, 1, 1.44});
  BOOST_TEST(twice == 2 * reach({1 / 1.2, 1, 1.2}), boost::test_tools::tolerance(0.1));
  BOOST_TEST(reach({1, 1.44}) == twice, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(reach({1 / 1.2, 1, 1.728}) == twice, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(reach({1}) < 0.01);
}

// "wide" tried four rates, the best of which lies between others; "narrow" tried one and, at minibatch 8, a worse one
// above it.
BOOST_AUTO_TEST_CASE(a_search_that_was_too_narrow_is_told) {
  const auto study = [](const std::string& name, const std::string& runs) {
    const Measurements table = parse_measurement_table("minibatch,rate,steps,diverged\n" + runs, name);
    return NamedStudy{name, answer_study(table.runs, {}), {}, effort_of(table.runs)};
  };
  std::string wide, narrow = "8,0.2,200,0\n";
  for (const int minibatch : {8, 16, 32}) {
    wide += fmt::format("{0},0.1,90,0\n{0},0.2,80,0\n{0},0.3,85,0\n{0},0.4,100,0\n{0},0.8,,1\n", minibatch);
    narrow += fmt::format("{},0.1,100,0\n", minibatch);
  }
  const std::vector<NamedStudy> studies = {study("wide", wide), study("narrow", narrow)};
  const auto is_told = [&](const std::string& runs) {
    const std::string page = side_by_side_page({studies[0], study("other", runs)}, "", {});
    return page.find("settings were tried") != std::string::npos;
  };
  BOOST_TEST(is_told("8,0.1,90,0\n8,0.2,80,0\n"));  // half as many
  BOOST_TEST(!is_told("8,0.1,90,0\n8,0.2,80,0\n8,0.4,90,0\n"));
  BOOST_TEST(!is_told("8,,90,0\n"));               // its rates are not known
  std::string words = side_by_side_text(studies);  // on one line
  std::ranges::replace(words, '\n', ' ');
  while (words.find("  ") != words.npos) words.erase(words.find("  "), 1);
  const std::string ends = "the best rate at minibatch 8 is the least or the greatest that was tried",
                    fewer = "1 rates and settings were tried at a minibatch (median), 4 by wide";
  BOOST_TEST(test::contains(words, ends));
  BOOST_TEST(test::contains(words, fewer));
  BOOST_TEST(words.find("NOTE") > words.find("narrow"), words);  // none of "wide"
  const std::string page = side_by_side_page(studies, "./run study A B", {});
  BOOST_TEST(test::contains(page, "NOTE: narrow: " + ends));
}

BOOST_AUTO_TEST_CASE(other_targets_and_data_are_refused) {
  std::vector<NamedStudy> studies = {study_of("a", 100), study_of("b", 100), study_of("c", 100)};
  BOOST_TEST(check_side_by_side(studies).size() == 3u);  // a line for each study, as none has a head
  studies[0].head = studies[1].head = head_of("error=0.03", "mnist 01");
  BOOST_TEST(check_side_by_side(studies).size() == 1u);
  studies[2].head = head_of("error=0.03", "mnist 02");
  BOOST_CHECK_EXCEPTION(check_side_by_side(studies), Error,
                        test::says("a and c differ in their data", "expected: mnist 01", "got:      mnist 02"));
  studies[2].head = head_of("error=0.02", "mnist 01");
  BOOST_CHECK_EXCEPTION(check_side_by_side(studies), Error, test::says("a and c differ in their target"));
}

BOOST_AUTO_TEST_CASE(the_page_has_every_study_and_what_differs) {
  std::vector<NamedStudy> studies = {study_of("a <1>", 100), study_of("b", 150)};
  studies[0].head = studies[1].head = head_of("error=0.03", "mnist 01");
  studies[1].head.rows.back().second = "3";
  studies[1].head.rows.emplace_back("the centre", "lr 0.1");  // the other study has none
  studies.push_back(study_of("table", 150));                  // it tells none of these facts
  const std::vector<AnswerFigure> figures = side_by_side_figures(studies);
  BOOST_REQUIRE(figures.size() == 2u);
  const std::string page = side_by_side_page(studies, "./run study A B", figures);
  for (const char* part :
       {"a &lt;1&gt;", "Best learning rate", "Steps to the target", "where they differ", "--draws", "the centre"})
    BOOST_TEST(test::contains(page, part));
  BOOST_TEST(!test::contains(page, "<1>"));
  BOOST_TEST(!test::contains(page, "mnist 01"));  // both studies have these data, so it is no difference
}

BOOST_AUTO_TEST_CASE(the_program_takes_several_tables) {
  const test::TemporaryDirectory directory;
  test::write_file(directory / "momentum.csv", table_of(100));
  test::write_file(directory / "nadamw.csv", table_of(200));
  const ProcessResult result = Process({KB_BIN "/study", (directory / "momentum.csv").string(),
                                        (directory / "nadamw.csv").string(), "--out", (directory / "both").string()})
                                   .wait();
  BOOST_TEST(result.status == 0, result.output);
  for (const char* part : {"momentum\n", "nadamw\n", "NOTE: nadamw: a table says neither", "studies.html"})
    BOOST_TEST(test::contains(result.output, part));
  for (const char* name : {"studies.html", "studies.json", "steps.svg", "rates.svg"})
    BOOST_TEST(std::filesystem::exists(directory / "both" / name), name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::side_by_side_test
