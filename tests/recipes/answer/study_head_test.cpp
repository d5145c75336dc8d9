// Tests the head of a study: its rows, and its notes about trials that several builds or devices trained.
#include "recipes/answer/study_head.h"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace kb::study_head_test {
namespace {

SweepDefinition definition() {
  SweepDefinition definition;
  definition.recipe = "net";
  definition.words = {"--target", "error=0.03", "--optimizer", "nadamw", "--half-life", "44000"};
  definition.minibatches = {8, 64};
  definition.ranges = {{parse_search("lr=x0.125:8"), true, true}};
  definition.centre = {{"lr", 0.0125}};
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

}  // namespace

BOOST_AUTO_TEST_SUITE(study_head)

BOOST_AUTO_TEST_CASE(it_says_what_is_studied_and_how) {
  const StudyHead head = kb::study_head(definition(), std::vector{trained("cpu", "abc"), trained("cpu", "abc")});
  BOOST_TEST(value_of(head, "the recipe") == "net");
  BOOST_TEST(value_of(head, "target") == "error=0.03");
  BOOST_TEST(value_of(head, "the flags of its trials") == "--target error=0.03 --optimizer nadamw --half-life 44000");
  BOOST_TEST(value_of(head, "what is searched") == "--search lr=x0.125:8");
  BOOST_TEST(value_of(head, "the centre of the search") ==
             "lr 0.0125 at minibatch 8, then the best of the minibatch before");
  BOOST_TEST(value_of(head, "minibatches") == "8 64");
  BOOST_TEST(value_of(head, "--draws") == "2");
  BOOST_TEST(value_of(head, "--hopeless") == "1.25");
  BOOST_TEST(value_of(head, "data") == "mnist 0123");
  BOOST_TEST(value_of(head, "device") == "cpu");
  BOOST_TEST(head.notes.empty());
}

BOOST_AUTO_TEST_CASE(one_beta2_over_several_minibatches_is_told) {
  SweepDefinition fixed = definition();
  const std::string note =
      "--optimizer nadamw has one beta2 at every minibatch, and averages squared gradients over more samples at a "
      "larger one; --half-life K keeps the samples (Marek et al. 2025)";
  BOOST_TEST(beta2_note(fixed) == "");
  fixed.words.back() = "0";
  BOOST_TEST(kb::study_head(fixed, {}).notes == std::vector{note});
  fixed.words.resize(4);
  BOOST_TEST(beta2_note(fixed) == note);
  fixed.words.back() = "lars";
  BOOST_TEST(beta2_note(fixed) == "");
  fixed.words.back() = "nadamw";
  fixed.words.resize(2);  // the recipe's own optimizer
  BOOST_TEST(beta2_note(fixed) == "");
  fixed.recipe = "gpt";
  BOOST_TEST(beta2_note(fixed).starts_with("--optimizer adamw has one beta2"));
  fixed.minibatches = {8};
  BOOST_TEST(beta2_note(fixed) == "");
}

BOOST_AUTO_TEST_CASE(trials_of_several_builds_or_devices_are_told) {
  const StudyHead head =
      kb::study_head(definition(), std::vector{trained("cpu", "abc"), trained("gpu", "abc"), trained("gpu", "def")});
  BOOST_TEST(head.notes ==
             (std::vector<std::string>{"trials differ in their build: abc (trials: 2); def (trials: 1)",
                                       "trials differ in their device: cpu (trials: 1); gpu (trials: 2)"}));
  BOOST_TEST(value_of(head, "device") == "cpu (trials: 1); gpu (trials: 2)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::study_head_test
