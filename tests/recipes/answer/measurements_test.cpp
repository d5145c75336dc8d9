// Tests tables of measurements: the runs that are read from them, and the messages about tables that cannot be read.
#include "recipes/answer/measurements.h"

#include <boost/test/unit_test.hpp>

#include "data/error.h"
#include "graph/error.h"
#include "recipes/answer/csv.h"
#include "tests/support/support.h"

namespace kb::measurements_test {
namespace {

std::vector<Measurement> runs_of(const std::string& table, std::optional<double> samples_per_epoch = {}) {
  return parse_measurement_table(table, "runs.csv", samples_per_epoch).runs;
}

// Returns the message with which the table is refused, and a blank line that parts it from the next one.
std::string refusal(const std::string& table) {
  try {
    parse_measurement_table(table, "runs.csv");
  } catch (const DataError& error) {
    return std::string(error.what()) + "\n\n";
  }
  return "accepted: " + table + "\n\n";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(measurements)

BOOST_AUTO_TEST_CASE(fields_as_rfc_4180_has_them) {
  const std::vector<CsvRecord> records =
      parse_csv("\xEF\xBB\xBF# a comment, \"\na,\"b \"\"c\"\", d\"\r\n\r\n\"two\nlines\",\n,x", "t.csv");
  BOOST_REQUIRE(records.size() == 3u);
  BOOST_TEST((records[0].fields == std::vector<std::string>{"a", "b \"c\", d"}));
  BOOST_TEST((records[1].fields == std::vector<std::string>{"two\nlines", ""}));
  BOOST_TEST((records[2].fields == std::vector<std::string>{"", "x"}));
  BOOST_TEST(records[0].line == 2u);
  BOOST_TEST(records[1].line == 4u);
  BOOST_TEST(records[2].line == 6u);
  BOOST_TEST(parse_csv("", "t.csv").empty());
  BOOST_TEST(parse_csv("a,", "t.csv").at(0).fields.size() == 2u);
}

BOOST_AUTO_TEST_CASE(columns_in_any_order) {
  const Measurements read = parse_measurement_table(
      "steps, minibatch ,rate,notes,seed,seconds\n100,8,0.5,\"first, good\",3,1.5\n50,16.0,1e0,,4,\n", "runs.csv");
  BOOST_REQUIRE(read.runs.size() == 2u);
  BOOST_TEST((read.ignored == std::vector<std::string>{"notes"}));
  const Measurement &one = read.runs[0], &two = read.runs[1];
  BOOST_TEST(one.minibatch == 8);
  BOOST_TEST(one.steps.value() == 100);
  BOOST_TEST(one.samples.value() == 800);
  BOOST_TEST(one.rate.value() == 0.5);
  BOOST_TEST(one.seed.value() == 3);
  BOOST_TEST(one.seconds.value() == 1.5);
  BOOST_TEST(!one.diverged);
  BOOST_TEST(two.minibatch == 16);
  BOOST_TEST(!two.seconds);
}

BOOST_AUTO_TEST_CASE(steps_from_samples_and_from_epochs) {
  BOOST_TEST(runs_of("minibatch,samples\n8,4000\n")[0].steps.value() == 500);
  BOOST_TEST(!runs_of("minibatch,samples\n8,\n")[0].steps);
  BOOST_TEST(runs_of("minibatch,epochs\n8,2.5\n", 1600)[0].steps.value() == 500);
  BOOST_TEST(runs_of("minibatch,epochs,eval_every\n8,2.5,1\n", 1600)[0].crossing().value() == 400);
  BOOST_TEST(runs_of("minibatch,steps,eval_every\n8,100,\n")[0].crossing().value() == 100);
  // If a table has several of the columns steps, samples and epochs, the first of these three counts.
  const Measurements both = parse_measurement_table("minibatch,epochs,steps\n8,2,7\n", "runs.csv");
  BOOST_TEST(both.runs[0].steps.value() == 7);
  BOOST_TEST((both.ignored == std::vector<std::string>{"epochs"}));
}

BOOST_AUTO_TEST_CASE(runs_that_did_not_reach_the_target) {
  const std::vector<Measurement> runs =
      runs_of("minibatch,steps,reached,diverged\n8,100,1,0\n8,100,0,0\n8,,0,1\n8,30,,True\n8,,,\n8,70,,\n");
  BOOST_TEST(runs[0].steps.value() == 100);
  BOOST_TEST(!runs[1].steps);
  BOOST_TEST(runs[1].samples.value() == 800);
  BOOST_TEST((!runs[2].steps && runs[2].diverged && !runs[2].samples));
  BOOST_TEST((!runs[3].steps && runs[3].diverged));
  BOOST_TEST(runs[3].samples.value() == 240);
  BOOST_TEST((!runs[4].steps && !runs[4].diverged));
  BOOST_TEST(runs[5].steps.value() == 70);
}

BOOST_AUTO_TEST_CASE(lines_without_a_seed_may_be_equal) {
  BOOST_TEST(runs_of("minibatch,rate,steps\n8,1,5\n8,1,5\n").size() == 2u);
  BOOST_TEST(runs_of("minibatch,rate,seed,steps\n8,1,1,5\n8,1,2,5\n8,2,1,5\n16,1,1,5\n").size() == 4u);
}

BOOST_AUTO_TEST_CASE(errors_name_file_line_and_remedy) {
  std::string text;
  for (const char* table : {"",
                            "# nothing\n",
                            "minibatch,steps\n",
                            "batch,steps\n1,2\n",
                            "minibatc,steps\n1,2\n",
                            "minibatch;steps\n1;2\n",
                            "minibatch,stepps\n1,2\n",
                            "minibatch,steps,steps\n1,2,3\n",
                            "minibatch,epochs\n1,2\n",
                            "# two columns\nminibatch,steps\n8,5\n\n8\n",
                            "minibatch,steps\n8.5,5\n",
                            "minibatch,steps\n0,5\n",
                            "minibatch,steps\n,5\n",
                            "minibatch,steps\n8,0\n",
                            "minibatch,steps\n8,-3\n",
                            "minibatch,steps\n8,nan\n",
                            "minibatch,steps\n8,inf\n",
                            "minibatch,steps\n8,\"1,000\"\n",
                            "minibatch,steps\n8,5 steps\n",
                            "minibatch,steps,eval_every\n8,5,6\n",
                            "minibatch,rate,steps\n8,high,5\n",
                            "minibatch,seed,steps\n8,-1,5\n",
                            "minibatch,steps,reached\n8,5,yes\n",
                            "minibatch,steps,reached\n8,,1\n",
                            "minibatch,steps,reached,diverged\n8,5,1,1\n",
                            "minibatch,rate,seed,steps\n8,0.1,1,5\n8,0.1,2,5\n8,0.1,1,6\n",
                            "minibatch,steps,policy\n8,5,policy=local replica=4\n",
                            "minibatch,steps\n8,\"5\n9,6\n",
                            "minibatch,steps\n8,\"5\"6\n",
                            "minibatch,steps\n8,5\"\n"})
    text += refusal(table);
  test::golden("measurement_errors.txt", text);
  BOOST_CHECK_THROW(read_measurement_table("/nowhere/runs.csv"), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::measurements_test
