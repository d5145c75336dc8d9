// Tests which rate of a minibatch is the best one, if runs were given up before the target.
#include <boost/test/unit_test.hpp>

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

// The fewest steps lie between rates that are equally good, so that none of these bounds the best rate.
BOOST_AUTO_TEST_CASE(the_middle_of_tied_rates_is_the_best) {
  const StudyAnswer answer = answer_study(table_runs("minibatch,rate,steps\n8,0.1,10\n8,0.2,10\n8,0.3,10\n"
                                                     "16,0.1,5\n16,0.2,5\n32,0.1,4\n32,0.2,6\n"),
                                          {});
  BOOST_TEST(answer.best[0].best.rate.value() == 0.2);
  BOOST_TEST((!answer.best[0].is_least && !answer.best[0].is_greatest));
  BOOST_TEST((!answer.best[1].is_least && !answer.best[1].is_greatest));
  BOOST_TEST(answer.best[2].is_least);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::best_rates_test
