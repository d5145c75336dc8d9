// The head of a study: its rows, and that it tells trials of several builds or devices.
#include "recipes/answer/study_head.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

namespace kb::study_head_test {
namespace {

SweepDefinition definition() {
  SweepDefinition definition;
  definition.recipe = "net";
  definition.words = {"--target", "error=0.03", "--optimizer", "nadamw"};
  definition.minibatches = {8, 64};
  definition.ranges = {{parse_search("lr=x0.125:8"), true, true}};
  definition.constants.draws = 2;
  return definition;
}

RunReport trained(const char* device, const char* build) {
  RunReport run;
  run.data = "mnist 0123";
  run.device = device;
  run.build = build;
  return run;
}

std::string value_of(const StudyHead& head, const std::string& name) {
  const auto at = std::find_if(head.rows.begin(), head.rows.end(), [&](const auto& row) { return row.first == name; });
  return at == head.rows.end() ? "" : at->second;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(study_head)

BOOST_AUTO_TEST_CASE(it_says_what_is_studied_and_how) {
  const StudyHead head = kb::study_head(definition(), std::vector{trained("cpu", "abc"), trained("cpu", "abc")});
  BOOST_TEST(value_of(head, "the recipe") == "net");
  BOOST_TEST(value_of(head, "target") == "error=0.03");
  BOOST_TEST(value_of(head, "the flags of its trials") == "--target error=0.03 --optimizer nadamw");
  BOOST_TEST(value_of(head, "what is searched") == "--search lr=x0.125:8");
  BOOST_TEST(value_of(head, "minibatches") == "8 64");
  BOOST_TEST(value_of(head, "--draws") == "2");
  BOOST_TEST(value_of(head, "--hopeless") == "1.25");
  BOOST_TEST(value_of(head, "data") == "mnist 0123");
  BOOST_TEST(value_of(head, "device") == "cpu");
  BOOST_TEST(head.notes.empty());
}

BOOST_AUTO_TEST_CASE(trials_of_several_builds_or_devices_are_told) {
  const StudyHead head =
      kb::study_head(definition(), std::vector{trained("cpu", "abc"), trained("gpu", "abc"), trained("gpu", "def")});
  BOOST_TEST(
      head.notes == (std::vector<std::string>{"trials differ in their build: abc (trials: 2); def (trials: 1)",
                                              "trials differ in their device: cpu (trials: 1); gpu (trials: 2)"}),
      boost::test_tools::per_element());
  BOOST_TEST(value_of(head, "device") == "cpu (trials: 1); gpu (trials: 2)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::study_head_test
