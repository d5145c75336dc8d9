// Tests Welch's interval against its formulas with a quantile from a table, and the rank-sum test against its tables.
#include "optim/two_samples.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "graph/error.h"
#include "optim/distributions.h"

namespace kb::two_samples_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTail = 0.025;
using Values = std::vector<double>;

}  // namespace

BOOST_AUTO_TEST_SUITE(two_samples)

BOOST_AUTO_TEST_CASE(welch_with_equal_variances_has_all_degrees) {
  const auto found = mean_difference(Samples{Values{1, 2, 3}}, Samples{Values{5, 6, 7}}, kTail);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->difference == -4);
  BOOST_TEST(found->degrees == 4, boost::test_tools::tolerance(1e-12));
  const double half = 2.7764451051977987 * std::sqrt(2.0 / 3);  // t(0.975, 4); both have variance 1 and 3 values
  BOOST_TEST(found->low == -4 - half, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(found->high == -4 + half, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(one_sample_without_scatter_leaves_the_degrees_of_the_other) {
  const auto found = mean_difference(Samples{Values{1, 1, 1, 1}}, Samples{Values{0, 1, 2}}, kTail);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->degrees == 2, boost::test_tools::tolerance(1e-12));
  // The quantile of two degrees has a closed form: (2 p - 1) / sqrt(2 p (1 - p)).
  BOOST_TEST(found->high == 0.95 / std::sqrt(2 * 0.975 * 0.025) / std::sqrt(3.0), boost::test_tools::tolerance(1e-12));
}

// The shares of the variance are 1 and 1/4, of one degree of freedom each.
BOOST_AUTO_TEST_CASE(two_pairs_have_less_than_two_degrees) {
  BOOST_TEST(mean_difference(Samples{Values{0, 2}}, Samples{Values{0, 1}}, kTail)->degrees == 1 / (0.64 + 0.04),
             boost::test_tools::tolerance(1e-12));
}

// Two samples of variance 1 with 3 values, and two of variance 2 with 2: the variance is 2 / 3 + 2, and its degrees of
// freedom are its square over (1 / 3)^2 / 2 + (1 / 3)^2 / 2 + 1 + 1.
BOOST_AUTO_TEST_CASE(sums_of_means_have_the_variance_of_all) {
  const Values a = {1, 2, 3}, b = {4, 6}, c = {10, 11, 12}, d = {0, 2};
  const auto found = mean_difference(Samples{a, b}, Samples{c, d}, kTail);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->difference == 2 + 5 - 11 - 1);
  BOOST_TEST(found->degrees == 64.0 / 9 / (1.0 / 9 + 2), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(found->high - found->low == 2 * student_t(kTail, found->degrees) * std::sqrt(8.0 / 3),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!mean_difference(Samples{a, b}, Samples{c, Values{1}}, kTail));
}

// A perplexity may be 1e80, whose variance has no square.
BOOST_AUTO_TEST_CASE(degrees_of_freedom_do_not_depend_on_the_unit) {
  for (const double unit : {1e-100, 1e80, 1e100}) {
    const auto found = mean_difference(Samples{Values{unit, 2 * unit, 3 * unit}},
                                       Samples{Values{5 * unit, 6 * unit, 7 * unit}}, kTail);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->degrees == 4, boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(!mean_difference(Samples{Values{1e200, 2e200}}, Samples{Values{1, 2}},
                              kTail));  // its variance is beyond a double
}

BOOST_AUTO_TEST_CASE(nothing_is_told_without_a_variance) {
  BOOST_TEST(!mean_difference(Samples{Values{1}}, Samples{Values{0, 1, 2}}, kTail));
  BOOST_TEST(!mean_difference(Samples{Values{1, 1}}, Samples{Values{2, 2}}, kTail));
}

BOOST_AUTO_TEST_CASE(the_interval_covers_in_95_of_100) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  constexpr int kStudies = 4000;
  for (const double ratio : {1.0, 3.0}) {
    int covered = 0;
    for (int study = 0; study < kStudies; ++study) {
      Values a, b;
      for (int i = 0; i < 4; ++i) a.push_back(1 + ratio * noise(random)), b.push_back(noise(random));
      const auto found = mean_difference(Samples{a}, Samples{b}, kTail);
      covered += found->low <= 1 && 1 <= found->high;
    }
    BOOST_TEST(covered > 0.94 * kStudies, ratio);
    BOOST_TEST(covered < 0.97 * kStudies, ratio);
  }
}

BOOST_AUTO_TEST_CASE(ranks_without_ties) {
  const RankSumTails apart = rank_sum_tails(Values{1, 2, 3, 4}, Values{5, 6, 7, 8});
  BOOST_TEST(apart.below == 1.0 / 70);
  BOOST_TEST(apart.above == 1);
  const RankSumTails three = rank_sum_tails(Values{5, 6, 7}, Values{1, 2, 3});
  BOOST_TEST(three.above == 1.0 / 20);
  // Here U = 2. Among the 252 ways to choose the first sample, one has U = 0, one has 1 and two have 2.
  const RankSumTails five = rank_sum_tails(Values{1, 2, 3, 5, 6}, Values{4, 7, 8, 9, 10});
  BOOST_TEST(five.below == 4.0 / 252);
}

BOOST_AUTO_TEST_CASE(runs_that_diverged_rank_last_and_equal) {
  const RankSumTails all = rank_sum_tails(Values{kInfinity, kInfinity, kInfinity, kInfinity}, Values{1, 2, 3, 4});
  BOOST_TEST(all.above == 1.0 / 70);
  const RankSumTails same = rank_sum_tails(Values{kInfinity, kInfinity}, Values{kInfinity, kInfinity});
  BOOST_TEST(same.below == 1);
  BOOST_TEST(same.above == 1);
  // The sample {1, inf, inf} of {1, 2, 3, inf, inf, inf} has the ranks 1, 5 and 5. Among the 20 samples of three, 10
  // have a rank sum of 11 or more: 9 with two infinite values and 1 with three.
  const RankSumTails some = rank_sum_tails(Values{1, kInfinity, kInfinity}, Values{2, 3, kInfinity});
  BOOST_TEST(some.above == 10.0 / 20);
}

BOOST_AUTO_TEST_CASE(samples_that_cannot_be_ranked_are_refused) {
  BOOST_CHECK_THROW(rank_sum_tails(Values{}, Values{1}), InternalError);
  BOOST_CHECK_THROW(rank_sum_tails(Values{1}, Values{}), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::two_samples_test
