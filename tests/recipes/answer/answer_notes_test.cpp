// Tests the notes of an answer: seeds that tie, and seeds that do not scatter equally.
#include "recipes/answer/answer_text.h"

#include <boost/test/unit_test.hpp>

#include "tests/recipes/answer/study_cases.h"

namespace kb::answer_notes_test {
namespace {

using study_answer_test::table_runs;

StudyAnswer answer_of(const std::string& runs) { return answer_study(table_runs("minibatch,seed,steps\n" + runs), {}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(notes_of_answers)

BOOST_AUTO_TEST_CASE(seeds_that_tie_look_rounded) {
  const StudyAnswer answer = answer_of("8,1,8000\n8,2,8000\n16,1,4000\n16,2,4000\n32,1,2100\n32,2,2000\n");
  const std::vector<std::string> notes = answer_notes(answer);
  BOOST_REQUIRE(notes.size() == 1u);
  BOOST_TEST(notes[0].starts_with("all seeds have equal steps at minibatch 8, 16: "), notes[0]);
  BOOST_TEST(test::contains(answer_text(answer), "NOTE: all seeds"));
  BOOST_TEST(answer_notes(answer_study(table_runs("minibatch,seed,steps,eval_every\n8,1,8000,400\n8,2,8000,400\n"
                                                  "16,1,4000,400\n16,2,4000,400\n32,1,2100,\n32,2,2000,\n"),
                                       {}))
                 .empty());
  BOOST_TEST(answer_notes(answer_of("8,1,8000\n8,2,8000\n16,1,4000\n16,2,4000\n")).size() == 1u);  // all tie
  // Two runs of so few steps have equally many by chance.
  BOOST_TEST(answer_notes(answer_of("8,1,80\n8,2,80\n16,1,40\n16,2,40\n32,1,21\n32,2,20\n")).empty());
}

BOOST_AUTO_TEST_CASE(runs_that_missed_the_target_after_unknown_steps_are_told) {
  const std::vector<std::string> notes = answer_notes(answer_of("8,1,80\n8,2,90\n8,3,\n16,1,40\n"));
  BOOST_REQUIRE(notes.size() == 1u);
  BOOST_TEST(notes[0].starts_with("S leaves out 1 of 3 runs at minibatch 8: "), notes[0]);
}

BOOST_AUTO_TEST_CASE(seeds_that_scatter_unequally_are_told) {
  const StudyAnswer answer =
      answer_of("8,1,8000\n8,2,8010\n8,3,7995\n16,1,4000\n16,2,4009\n16,3,3998\n32,1,2000\n32,2,1500\n32,3,2500\n");
  const std::vector<std::string> notes = answer_notes(answer);
  BOOST_REQUIRE(notes.size() == 1u);
  BOOST_TEST(notes[0].starts_with("seeds do not scatter by a power of the minibatch (Bartlett's test, p = "), notes[0]);
  BOOST_TEST(test::contains(notes[0], "by 26 % at 32"));
  BOOST_TEST(answer_notes(study_answer_test::law_answer()).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::answer_notes_test
