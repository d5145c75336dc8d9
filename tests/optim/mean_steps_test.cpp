// Tests the mean steps of minibatch sizes whose runs scatter equally much, with some runs given up.
#include "optim/mean_steps.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/error.h"
#include "tests/optim/synthetic_study.h"
#include "tests/support/says.h"

namespace kb::mean_steps_test {

BOOST_AUTO_TEST_SUITE(mean_steps)

// The logarithms of the steps deviate by +-d from their means, so sigma^2 is 2 d^2, with a degree of freedom at each
// minibatch. By the slope's prior of 2 log 3 over log 2, the variance of log sigma^2 is at both 1.54689, and its
// degrees of freedom are 2 / 1.54689 = 1.29292. Without its own, a minibatch has 0.29292 of the law, which with four
// are 0.27293: t has 1.27293 degrees.
BOOST_AUTO_TEST_CASE(the_variance_is_of_all_minibatches) {
  const double d = 0.1, sigma = std::sqrt(2) * d, t = 7.775662385218048;
  const PooledSteps pooled = pooled_steps(std::vector<StepsToTarget>{
      {8, {1e6 * std::exp(-d), 1e6 * std::exp(d)}}, {16, {1e5 * std::exp(-d), 1e5 * std::exp(d)}}, {32, {}}});
  const auto near = boost::test_tools::tolerance(1e-8);
  BOOST_TEST(pooled.deviation_at(8) == sigma, near);
  BOOST_TEST(pooled.deviation_at(16) == sigma, near);
  BOOST_REQUIRE(pooled.means.size() == 2u);
  BOOST_TEST(pooled.means[0].steps == 1e6, near);
  for (const MeanSteps& mean : pooled.means) {
    BOOST_TEST(mean.interval.value().high / mean.steps == std::exp(t * sigma / std::sqrt(2)), near);
    BOOST_TEST(mean.interval->low * mean.interval->high == mean.steps * mean.steps, near);
  }
}

BOOST_AUTO_TEST_CASE(equal_seeds_are_known_to_within_their_resolution) {
  const PooledSteps whole = pooled_steps(std::vector<StepsToTarget>{{8, {157, 157}}, {16, {80, 80}}});
  BOOST_TEST(
      std::log(whole.means[0].interval.value().high / 157) == 1.959963984540054 * std::log1p(1.0 / 157) / std::sqrt(12),
      boost::test_tools::tolerance(1e-6));
  const PooledSteps coarse = pooled_steps(std::vector<StepsToTarget>{{8, {157, 157}, {}, 0.1}, {16, {80, 80}}});
  BOOST_TEST(std::log(coarse.means[0].interval.value().high / 157) == 1.959963984540054 * std::log(1.1) / std::sqrt(12),
             boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(single_runs_have_no_interval) {
  const PooledSteps pooled = pooled_steps(std::vector<StepsToTarget>{{8, {100}}, {16, {70}}});
  BOOST_TEST(pooled.means[1].steps == 70, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!pooled.means[1].interval);
  BOOST_TEST(pooled.means[1].variance == 0);
}

// The likelihood of the runs, those that hit the target and those given up, is greatest at the mean that was found.
BOOST_AUTO_TEST_CASE(a_run_that_was_given_up_lifts_the_mean) {
  const std::vector<StepsToTarget> study = {{8, {90, 110}, {130}}, {16, {60, 70, 66}}, {32, {40, 44}, {41}}};
  const PooledSteps pooled = pooled_steps(study);
  BOOST_TEST(pooled.means[0].steps > geometric_mean(std::vector<double>{90, 110, 130}));
  const auto likelihood = [&](size_t place, double factor) {
    const double sigma = pooled.deviation_at(study[place].minibatch),
                 mean = std::log(factor * pooled.means[place].steps);
    double sum = 0;
    for (const double steps : study[place].steps) sum -= std::pow((std::log(steps) - mean) / sigma, 2) / 2;
    for (const double least : study[place].given_up)
      sum += std::log(std::erfc((std::log(least) - mean) / sigma / std::sqrt(2)));
    return sum;
  };
  for (size_t place = 0; place < study.size(); ++place)
    for (const double factor : {0.9, 0.99, 1.01, 1.1}) BOOST_TEST(likelihood(place, factor) < likelihood(place, 1));
  // A run that was given up says less of its mean than a run that hit the target.
  BOOST_TEST(pooled.means[0].variance > pooled.means[1].variance);
}

// A minibatch alone has its own sigma: sigma^2 times its degrees of freedom is the expected sum of squares, and the
// mean's information is the curvature of the likelihood. Sums over the normal density stand for the expectations.
BOOST_AUTO_TEST_CASE(runs_given_up_count_for_sigma_as_they_are_expected) {
  const StepsToTarget runs{8, {90, 100, 125}, {110, 140}, 1e-9};
  const PooledSteps pooled = pooled_steps(std::vector{runs});
  const double sigma = pooled.deviation_at(8), mean = std::log(pooled.means.at(0).steps);
  double sum = 0, squares = 0, information = 0;
  for (const double steps : runs.steps) sum += std::log(steps), squares += std::pow(std::log(steps) - mean, 2);
  for (const double least : runs.given_up) {
    const double begin = (std::log(least) - mean) / sigma, width = 1e-3;
    double all = 0, first = 0, second = 0;
    for (double z = begin + width / 2; z < 12; z += width) {
      const double density = std::exp(-z * z / 2);
      all += density, first += z * density, second += z * z * density;
    }
    sum += mean + sigma * first / all;
    squares += sigma * sigma * second / all;
    const auto log_tail = [](double z) { return std::log(std::erfc(z / std::sqrt(2))); };
    information -= (log_tail(begin + width) - 2 * log_tail(begin) + log_tail(begin - width)) / (width * width);
  }
  BOOST_TEST(mean == sum / 5, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(sigma * sigma * 4 == squares, boost::test_tools::tolerance(1e-5));
  const double of_grid = std::pow(std::log1p(1 / pooled.means[0].steps), 2) / 12;
  BOOST_TEST(pooled.means[0].variance - of_grid == sigma * sigma / (3 + information),
             boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(the_mean_with_a_known_sigma_is_that_of_all_minibatches) {
  const std::vector<StepsToTarget> study = {{8, {90, 110}, {130}}, {16, {60, 70, 66}}, {32, {40, 44}, {41}}};
  const PooledSteps pooled = pooled_steps(study);
  const auto near = boost::test_tools::tolerance(1e-7);
  for (size_t i = 0; i < study.size(); ++i)
    BOOST_TEST(censored_mean(study[i], pooled.deviation_at(study[i].minibatch)) == pooled.means[i].steps, near);
  BOOST_TEST(censored_mean(study[0], 0) == geometric_mean(std::vector<double>{90, 110, 130}), near);
  BOOST_TEST(censored_mean({8, {90, 110}, {1000}}, 1e-9) == geometric_mean(std::vector<double>{90, 110, 1000}), near);
  BOOST_TEST(std::isinf(censored_mean({8, {}, {100}}, 0.1)));
}

// At the mean the derivative of the likelihood is 0: what 50 runs pull down, the one that was given up, nine or 35
// sigma above them, pulls up.
BOOST_AUTO_TEST_CASE(the_mean_is_exact_where_a_run_was_given_up_late) {
  for (const auto& [least, close] : {std::pair(110.0, 1e-6), {144.0, 1e-5}}) {
    const double sigma = 0.01, mean = std::log(censored_mean({8, std::vector<double>(50, 100), {least}}, sigma));
    const double z = (std::log(least) - mean) / sigma;
    BOOST_TEST(50 * (mean - std::log(100)) / sigma ==
                   std::sqrt(2 / std::numbers::pi) * std::exp(-z * z / 2) / std::erfc(z / std::sqrt(2)),
               boost::test_tools::tolerance(close));
  }
}

// If the runs that were given up were left out, the mean would be too low by 0.35 standard deviations.
BOOST_AUTO_TEST_CASE(misses_do_not_bias_the_mean) {
  double sum = 0;
  constexpr int kStudies = 200;
  const test::StudyDesign design{{300, 256, 1}, test::doublings(8), 5, 0.17, 0.2};
  for (uint64_t seed = 1; seed <= kStudies; ++seed)
    for (const MeanSteps& mean : pooled_steps(test::synthetic_study(design, seed)).means)
      sum += std::log(mean.steps / design.law.steps_at(static_cast<double>(mean.minibatch))) / (8 * kStudies);
  BOOST_TEST(std::abs(sum) < 0.1 * design.deviation);
}

BOOST_AUTO_TEST_CASE(the_geometric_mean) {
  BOOST_TEST(geometric_mean(std::vector<double>{4, 9}) == 6, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(what_is_no_number_of_steps_is_refused) {
  for (const auto& [steps, got] : {std::pair(0.0, "got 0"),
                                   {-1.0, "got -1"},
                                   {std::nan(""), "got nan"},
                                   {std::numeric_limits<double>::infinity(), "got inf"}}) {
    const auto says = test::says("steps to the target: expected steps above 0 at minibatch 16", got);
    BOOST_CHECK_EXCEPTION(pooled_steps(std::vector<StepsToTarget>{{8, {5}}, {16, {steps}}}), Error, says);
    BOOST_CHECK_EXCEPTION(pooled_steps(std::vector<StepsToTarget>{{8, {5}}, {16, {5}, {steps}}}), Error, says);
    BOOST_CHECK_EXCEPTION(censored_mean({16, {5}, {steps}}, 0.1), Error, says);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::mean_steps_test
