// Verdicts by means and by ranks, on values that leave no doubt.
#include "recipes/trials/verdict.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::verdict_test {

BOOST_AUTO_TEST_SUITE(verdicts)

// Four seeds each that do not overlap: one of 70 orders.
BOOST_AUTO_TEST_CASE(runs_that_diverged_are_ranked_last_on_either_side) {
  const std::vector<double> low = {1, 2, 3, 4}, high = {5, 6, 7, HUGE_VAL};
  for (const bool is_at_most : {true, false}) {
    const Evidence below = judge_all(low, high, is_at_most), above = judge_all(high, low, is_at_most);
    for (const Evidence& found : {below, above}) {
      BOOST_TEST(found.is_ranked);
      BOOST_TEST(found.p == 1.0 / 70, boost::test_tools::tolerance(1e-12));
    }
    BOOST_TEST((below.verdict == (is_at_most ? Verdict::held : Verdict::not_held)));
    BOOST_TEST((above.verdict == (is_at_most ? Verdict::not_held : Verdict::held)));
  }
}

BOOST_AUTO_TEST_CASE(growths_with_runs_that_diverged_are_ranked) {
  const GrowthSample slow{{0, 0, 0, 0}, {1, 1.1, 1.2, 1.3}}, fast{{0, 0, 0, 0}, {2, 2.1, 2.2, HUGE_VAL}};
  BOOST_TEST(judge_growth(slow, fast).is_ranked);
  BOOST_TEST((judge_growth(slow, fast).verdict == Verdict::held));
  BOOST_TEST((judge_growth(fast, slow).verdict == Verdict::not_held));
  const GrowthSample few{{0, 0}, {1, 1.1, 1.2, HUGE_VAL}};  // two pairs
  BOOST_TEST(judge_growth(few, slow).seeds == 2u);
  BOOST_TEST(judge_growth(slow, few).reference_seeds == 2u);
}

BOOST_AUTO_TEST_CASE(one_seed_on_either_side_decides_nothing) {
  BOOST_TEST((judge_all({1, 1.1}, {3}, true).verdict == Verdict::seen));
  BOOST_TEST((judge_all({3}, {1, 1.1}, true).verdict == Verdict::not_seen));
  BOOST_TEST((judge_all({1}, {1}, true).verdict == Verdict::undecided));
}

BOOST_AUTO_TEST_CASE(seeds_behind_the_last_look_are_not_looked_at) {
  const std::vector<double> values = {1, 2, 3, 4, -100, -100}, reference = {1.5, 2.5, 2, 3, 100, 100};
  const Evidence found = judge_difference(values, reference, 0, true, {3, 4});
  BOOST_TEST((found.verdict == Verdict::undecided));
  BOOST_TEST(found.seeds == 4u);
}

BOOST_AUTO_TEST_CASE(a_claim_of_parts_is_as_weak_as_its_weakest) {
  BOOST_TEST((verdict_of_all({}) == Verdict::not_tested));
  BOOST_TEST((verdict_of_all({Verdict::held, Verdict::held}) == Verdict::held));
  BOOST_TEST((verdict_of_all({Verdict::held, Verdict::undecided, Verdict::not_held}) == Verdict::not_held));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::verdict_test
