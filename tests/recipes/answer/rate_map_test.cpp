// Tests the map of a study's steps over minibatches and rates: its words about what the cells compare, and the numbers
// in the cells.
#include <boost/test/unit_test.hpp>
#include <optional>
#include <vector>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/measurements.h"
#include "recipes/report/svg.h"

namespace kb::rate_map_test {
namespace {

std::string map_of(const std::string& runs) {
  const Measurements table = parse_measurement_table("minibatch,rate,seed,steps\n" + runs, "runs.csv");
  for (const AnswerFigure& figure : answer_figures(answer_study(table.runs, {})))
    if (figure.name == "rate_map") return figure.svg;
  return "";
}

bool shows(const std::string& map, const std::string& words) {
  return map.find(">" + xml_text(words) + "</text>") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rate_map)

BOOST_AUTO_TEST_CASE(means_and_single_runs_are_not_called_runs_of_the_same_seeds) {
  const auto compares = [](const std::string& runs, const std::string& words) {
    const std::string map = map_of(runs);
    BOOST_TEST(shows(map, words), map);
  };
  const std::string alike = "8,0.1,1,100\n8,0.1,2,160\n8,0.2,1,110\n",
                    apart = "16,0.1,1,60\n16,0.1,2,70\n16,0.2,3,90\n",
                    mixed = "times its minibatch's fewest; means of 1 to 2 runs";
  compares(alike, "times the fewest of its minibatch, same seeds");
  compares(apart, mixed);
  compares(alike + apart, mixed);
  compares("8,0.1,,100\n8,0.1,,160\n8,0.2,,110\n8,0.2,,120\n", "times its minibatch's fewest; means of 2 runs");
  compares("8,0.1,1,100\n8,0.2,2,110\n", "times the fewest of its minibatch, single runs");
}

BOOST_AUTO_TEST_CASE(numbers_in_cells_are_of_one_kind) {
  const std::string great = map_of("8,0.1,1,99999\n8,0.2,1,120000\n16,0.1,1,900\n");
  for (const char* mark : {"100k", "120k", "900"}) BOOST_TEST(shows(great, mark), great);
  BOOST_TEST(!shows(great, "99999"), great);
  const std::string small = map_of("8,0.1,1,99999\n8,0.2,1,99000\n");
  for (const char* mark : {"99999", "99000"}) BOOST_TEST(shows(small, mark), small);
}

// A hopeless trial is drawn alike whether it was stopped or had ended before its minibatch's best trial was known.
BOOST_AUTO_TEST_CASE(a_hopeless_trial_looks_alike_whenever_it_was_stopped) {
  const auto map_with = [](std::optional<double> steps) {
    Measurement best{.minibatch = 8, .rate = 0.1, .seed = 1, .steps = 100, .samples = 800},
        near{.minibatch = 8, .rate = 0.2, .seed = 1, .steps = 120, .samples = 960},
        hopeless{.minibatch = 8, .rate = 0.4, .seed = 1, .steps = steps, .samples = 1200, .hopeless = true};
    for (const AnswerFigure& figure : answer_figures(answer_study(std::vector{best, near, hopeless}, {})))
      if (figure.name == "rate_map") return figure.svg;
    return std::string();
  };
  const std::string stopped = map_with(std::nullopt), done = map_with(150);
  BOOST_TEST(stopped == done);
  BOOST_TEST(shows(stopped, ">"), stopped);
  BOOST_TEST(shows(stopped, "120"), stopped);
  BOOST_TEST(!shows(done, "150"), done);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::rate_map_test
