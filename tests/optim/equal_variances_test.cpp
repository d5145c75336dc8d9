// Tests Bartlett's statistic on variances that are known, and how often it rejects.
#include "optim/equal_variances.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

namespace kb::equal_variances_test {
namespace {

// Returns a study of 9 minibatches with 3 seeds each. Their scatter grows from 0.1 / factor to 0.1 * factor if it
// `grows`; if not it is one of these in turn.
std::vector<StepsToTarget> study_with(double factor, bool grows, uint64_t seed) {
  constexpr int kMinibatches = 9, kSeeds = 3;
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<StepsToTarget> study;
  for (int i = 0; i < kMinibatches; ++i) {
    study.push_back({int64_t{8} << i});
    const double power = grows ? 2.0 * i / (kMinibatches - 1) - 1 : i % 2 == 0 ? -1 : 1;
    for (int run = 0; run < kSeeds; ++run)
      study.back().steps.push_back(1000 * std::exp(0.1 * std::pow(factor, power) * normal(bits)));
  }
  return study;
}

EqualVariancesTest tested(const std::vector<StepsToTarget>& study) {
  return test_equal_variances(study, pooled_steps(study).scatter.value()).value();
}

int rejected(double factor, bool grows, int studies) {
  int count = 0;
  for (int i = 1; i <= studies; ++i) count += tested(study_with(factor, grows, static_cast<uint64_t>(i))).rejects();
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(equal_variances)

// Log steps of +-d and +-3 d have the variances 2 d^2 and 18 d^2, with one degree of freedom each, and 10 d^2 together.
// The statistic is (2 log 10 - log 2 - log 18) / (1 + (2 - 1 / 2) / 3).
BOOST_AUTO_TEST_CASE(the_statistic_is_bartletts) {
  const double d = 0.1;
  const std::vector<StepsToTarget> study = {{8, {1e6 * std::exp(-d), 1e6 * std::exp(d)}},
                                            {16, {1e5 * std::exp(-3 * d), 1e5 * std::exp(3 * d)}},
                                            {32, {500}},            // one run
                                            {64, {300, 300}},       // rounded steps
                                            {96, {216, 216, 216}},  // the mean of their logarithms is rounded
                                            {112, {1e6, std::nextafter(1e6, 2e6)}},  // their logarithms are equal
                                            {128, {200, 230}, {900}}};               // one was given up
  const ScatterLaw law{.level = std::log(4.0)};                                      // sigma 2 everywhere
  const EqualVariancesTest test = test_equal_variances(study, law).value();
  const auto near = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(test.statistic == (2 * std::log(10) - std::log(2) - std::log(18)) / 1.5, near);
  BOOST_TEST(test.degrees == 1);
  BOOST_TEST(test.p == std::erfc(std::sqrt(test.statistic / 2)), near);  // chi-squared of one degree: a normal's square
  BOOST_TEST(test.least.minibatch == 8);
  BOOST_TEST(test.greatest.minibatch == 16);
  BOOST_TEST(test.greatest.deviation == std::sqrt(18) * d, near);
  BOOST_TEST(test.greatest.of_law == 2, near);
  BOOST_TEST(!test_equal_variances(std::vector<StepsToTarget>{{8, {100, 110}}, {16, {60}}}, law));
}

// A law that holds is rejected in 5 % of all studies or less, and in more than 10 % of 400 only once in ten thousand
// trials.
BOOST_AUTO_TEST_CASE(it_rejects_as_seldom_as_it_says_and_notices_a_scatter_of_no_power) {
  const int of_one = rejected(1, false, 400), of_power = rejected(1.7, true, 400), of_none = rejected(5, false, 100);
  BOOST_TEST_MESSAGE("rejected: one sigma " << of_one << ", a power " << of_power << " of 400, none " << of_none
                                            << " of 100");
  BOOST_TEST(of_one <= 40);
  BOOST_TEST(of_power <= 40);
  BOOST_TEST(of_none >= 60);
}

BOOST_AUTO_TEST_CASE(ties_are_of_several_runs) {
  BOOST_TEST(all_tie({8, {100, 100}}));
  BOOST_TEST(!all_tie({8, {100}}));
  BOOST_TEST(!all_tie({8, {100, 101}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::equal_variances_test
