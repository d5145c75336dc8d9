// The local critical minibatch of branches with given losses, their averages, and the warmup that follows.
#include "optim/local_critical_batch.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace kb::local_critical_batch_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Branches with k = 1, 2, 4, ... and these losses.
std::vector<BranchLoss> branches_with(const std::vector<double>& losses) {
  std::vector<BranchLoss> branches;
  for (const double loss : losses) branches.push_back({int64_t{1} << branches.size(), loss});
  return branches;
}

LocalCritical critical_of(const std::vector<double>& losses, double tolerance = kLocalTolerance) {
  return local_critical(branches_with(losses), tolerance);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(local_critical_batch)

BOOST_AUTO_TEST_CASE(the_largest_that_loses_nothing_is_found) {
  const LocalCritical between = critical_of({3, 3.005, 3.009, 3.02, 3.5});
  BOOST_TEST(between.factor == 4);
  BOOST_TEST(between.above.value() == 8);
  BOOST_TEST(between.is_monotone);
  const LocalCritical all = critical_of({3, 2.9, 2.905});  // at least 4
  BOOST_TEST(all.factor == 4);
  BOOST_TEST(!all.above);
  const LocalCritical none = critical_of({3, 3.02, 3.1});  // below 2
  BOOST_TEST(none.factor == 1);
  BOOST_TEST(none.above.value() == 2);
  BOOST_TEST(critical_of({3}).factor == 1);
}

BOOST_AUTO_TEST_CASE(it_is_compared_with_every_smaller_one) {
  // The loss at k = 4 is below that at k = 1, but more than the tolerance above that at k = 2.
  BOOST_TEST(critical_of({3, 2.9, 2.95}).factor == 2);
  BOOST_TEST(critical_of({3, 2.9, 2.95}, 0.06).factor == 4);
  BOOST_TEST(critical_of({0, 0.25, 0.5}, 0.25).factor == 2);  // a tolerance that is met exactly holds
  const LocalCritical noisy = critical_of({3, 3.02, 3.005});
  BOOST_TEST(noisy.factor == 4);
  BOOST_TEST(!noisy.is_monotone);
}

BOOST_AUTO_TEST_CASE(a_branch_that_diverged_loses) {
  BOOST_TEST(critical_of({3, kInfinity, kInfinity}).factor == 1);
  BOOST_TEST(critical_of({3, 3, kInfinity}).above.value() == 4);
  const LocalCritical odd = critical_of({3, kInfinity, 3});
  BOOST_TEST(odd.factor == 4);
  BOOST_TEST(!odd.is_monotone);
  BOOST_TEST(critical_of({3, std::nan("")}).factor == 1);
}

BOOST_AUTO_TEST_CASE(other_branches_are_refused) {
  BOOST_CHECK_THROW(local_critical({}, 0.01), std::invalid_argument);
  BOOST_CHECK_THROW(critical_of({kInfinity, 3}), std::invalid_argument);
  BOOST_CHECK_THROW(local_critical(std::vector<BranchLoss>{{2, 3}, {4, 3}}, 0.01), std::invalid_argument);
  BOOST_CHECK_THROW(local_critical(std::vector<BranchLoss>{{1, 3}, {4, 3}, {4, 3}}, 0.01), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(moving_averages_have_their_closed_forms) {
  const auto near = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(moving_average(std::vector{8.0, 4.0, 2.0}, 0.5).value == 0.25 * 8 + 0.25 * 4 + 0.5 * 2, near);
  BOOST_TEST(moving_average(std::vector{8.0, 4.0, 2.0}, 1).value == 2);
  BOOST_TEST(moving_average(std::vector{7.0}, 0.3).value == 7);
  BOOST_TEST(!moving_average(std::vector{7.0}, 0.3).error);
  const std::vector<double> level(9, 3.0);
  BOOST_TEST(moving_average(level, 0.1).value == 3, near);
  BOOST_TEST(moving_average(level, 0.1).error.value() == 0);
  BOOST_TEST(moving_average(level, 0.1).degrees == 2 * 16 / 11.0, near);  // the last five values tell it
  BOOST_TEST(moving_average(std::vector{7.0, 8.0, 9.0}, 0.3).degrees == 1);
  for (const double alpha : {0.0, -1.0, 1.5}) BOOST_CHECK_THROW(moving_average(level, alpha), std::invalid_argument);
  BOOST_CHECK_THROW(moving_average({}, 0.5), std::invalid_argument);
}

// Independent values of deviation s have an average of deviation s sqrt(alpha / (2 - alpha)), whatever their slow
// trend.
BOOST_AUTO_TEST_CASE(the_error_of_a_moving_average_is_that_of_noise) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.2);
  std::vector<double> values;
  for (int i = 0; i < 4000; ++i) values.push_back(5 - 1e-4 * i + noise(random));
  for (const double alpha : {0.5, 0.1})
    BOOST_TEST(moving_average(values, alpha).error.value() == 0.2 * std::sqrt(alpha / (2 - alpha)),
               boost::test_tools::tolerance(0.04));
}

BOOST_AUTO_TEST_CASE(differences_are_paired) {
  const AveragedLoss difference = paired_difference(std::vector{1.0, 5.0, 9.0}, std::vector{1.5, 5.0, 9.1});
  BOOST_TEST(difference.value == 0.2, boost::test_tools::tolerance(1e-12));
  const double squares = 0.3 * 0.3 + 0.2 * 0.2 + 0.1 * 0.1;
  BOOST_TEST(difference.error.value() == std::sqrt(squares / 2 / 3), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(difference.degrees == 2);
  BOOST_TEST(!paired_difference(std::vector{1.0}, std::vector{2.0}).error);
  BOOST_CHECK_THROW(paired_difference({}, {}), std::invalid_argument);
  BOOST_CHECK_THROW(paired_difference(std::vector{1.0}, std::vector{2.0, 3.0}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_minibatch_doubles_where_it_may) {
  using Growths = std::vector<WarmupGrowth>;
  const auto warmup = [](const std::vector<LocalMinibatch>& places) { return minibatch_warmup(places, 8); };
  BOOST_TEST((warmup({{100, 8}, {200, 16}, {300, 16}, {400, 64}}) == Growths{{200, 2}, {400, 4}}));
  BOOST_TEST((warmup({{100, 15}, {200, 31}}) == Growths{{200, 2}}));  // by whole doublings
  BOOST_TEST(warmup({{100, 8}, {200, 8}}).empty());
  BOOST_TEST(warmup({}).empty());
  // A place that allows more than a later one does not count: the minibatch never falls.
  BOOST_TEST((warmup({{100, 64}, {200, 16}, {300, 32}}) == Growths{{100, 2}, {300, 2}}));
  BOOST_TEST((warmup({{100, 64}, {200, 8}, {300, 32}}) == Growths{{300, 4}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::local_critical_batch_test
