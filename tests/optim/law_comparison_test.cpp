// Tests that intervals of ratios of two studies hold the truth as often as they promise, and that the law of best rates
// is found from its own numbers.
#include "optim/law_comparison.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/optim/synthetic_study.h"

namespace kb::law_comparison_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns a fit of four minibatch sizes, with k = 1.
ScalingFit fit_with(const Estimate& s_min) {
  ScalingFit fit{};
  fit.s_min = s_min;
  fit.residuals.assign(4, 0);
  return fit;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(law_comparison)

BOOST_AUTO_TEST_CASE(distances_of_ends_add_up_as_squares) {
  // In logarithms to base 2 the estimates are 3 (interval 2 to 5) and 1 (-1 to 1.5). Their difference is 2; its
  // interval reaches hypot(1, 0.5) down and hypot(2, 2) up, each rescaled. Each estimate has two degrees of freedom,
  // for which the 97.5 % point of Student's t is 4.303. The equal ones up have four together, for which it is 2.776;
  // those down have 1.25^2 / (1 / 2 + 0.25^2 / 2) = 2.94.
  const ScalingFit first = fit_with({8, {4, 32}}), second = fit_with({2, {0.5, std::exp2(1.5)}});
  const Estimate ratio = ratio_of(first, second, &ScalingFit::s_min);
  constexpr double kTwo = 4.3026527297, kFour = 2.7764451052, kDown = 3.2187586145;
  BOOST_TEST(ratio.value == 4);
  BOOST_TEST(std::log2(ratio.interval.low) == 2 - kDown / kTwo * std::sqrt(1.25), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(std::log2(ratio.interval.high) == 2 + kFour / kTwo * std::sqrt(8), boost::test_tools::tolerance(1e-9));
}

// Nothing is gained by a study of many minibatches beside one of few: its ends stay where they are.
BOOST_AUTO_TEST_CASE(an_exact_estimate_leaves_the_other_ones_ends) {
  const Estimate ratio = ratio_of(fit_with({8, {8, 8}}), fit_with({2, {0.5, 4}}), &ScalingFit::s_min);
  BOOST_TEST(ratio.interval.low == 2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(ratio.interval.high == 16, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(open_ends_stay_open) {
  const ScalingFit known = fit_with({8, {4, 16}}), open_above = fit_with({8, {4, kInfinity}}),
                   open_below = fit_with({8, {0, 16}});
  const auto interval = [](const ScalingFit& a, const ScalingFit& b) {
    return ratio_of(a, b, &ScalingFit::s_min).interval;
  };
  BOOST_TEST(!interval(open_above, known).has_high());
  BOOST_TEST(interval(open_above, known).has_low());
  BOOST_TEST(!interval(known, open_above).has_low());
  BOOST_TEST(!interval(known, open_below).has_high());
}

// A study of three minibatches has one degree of freedom. Its interval is often short by chance, and a longer study
// beside it makes it no surer.
BOOST_AUTO_TEST_CASE(ratios_to_a_study_of_three_minibatches_hold_the_truth) {
  constexpr int kPairs = 300;
  const auto fitted = [](std::vector<int64_t> minibatches, int seed) {
    const std::vector<StepsToTarget> runs = test::synthetic_study(
        {.law = {150, 64, 1}, .minibatches = std::move(minibatches)}, static_cast<uint64_t>(seed));
    return fit_critical_batch(pooled_steps(runs).means).answer;
  };
  int s_min = 0, b_crit = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    const ScalingFit a = fitted({8, 16, 32}, 2 * pair + 1), b = fitted({8, 16, 32, 64, 128}, 2 * pair + 2);
    s_min += test::holds(ratio_of(a, b, &ScalingFit::s_min).interval, 1);
    b_crit += test::holds(ratio_of(a, b, &ScalingFit::b_crit).interval, 1);
  }
  BOOST_TEST(s_min >= 282);
  BOOST_TEST(b_crit >= 282);
}

// About 96 % of all pairs hold the truth; with 200 pairs the standard error of this share is 1.4 %.
BOOST_AUTO_TEST_CASE(ratios_of_two_laws_hold_the_truth) {
  constexpr int kPairs = 100;
  const auto fitted = [](double s_min, uint64_t seed) {
    const std::vector<StepsToTarget> runs =
        test::synthetic_study({.law = {s_min, 200, 1.5}, .minibatches = test::doublings(10)}, seed);
    return fit_critical_batch(pooled_steps(runs).means).answer;
  };
  std::vector<ScalingFit> second;
  for (uint64_t pair = 0; pair < kPairs; ++pair) second.push_back(fitted(150, 2 * pair + 2));
  for (const double factor : {1.0, 2.0}) {
    int s_min = 0, b_crit = 0, gain = 0;
    for (uint64_t pair = 0; pair < kPairs; ++pair) {
      const ScalingFit a = fitted(150 * factor, 2 * pair + 1), &b = second[pair];
      s_min += test::holds(ratio_of(a, b, &ScalingFit::s_min).interval, factor);
      b_crit += test::holds(ratio_of(a, b, &ScalingFit::b_crit).interval, 1);
      gain += test::holds(ratio_of(a, b, &ScalingFit::gain_end).interval, 1);
    }
    BOOST_TEST_MESSAGE("ratio " << factor << ": S_min " << s_min << ", B_crit " << b_crit << ", gain's end " << gain
                                << " of " << kPairs);
    for (const int held : {s_min, b_crit, gain}) {
      BOOST_TEST(held >= kPairs * 91 / 100);
      BOOST_TEST(held <= kPairs * 995 / 1000);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_law_of_best_rates_is_found_again) {
  std::vector<BestRateAt> best;
  for (const double minibatch : {8.0, 32.0, 128.0, 512.0}) best.push_back({minibatch, 0.5 / (1 + 100 / minibatch)});
  const std::optional<RateLaw> law = fit_rate_law(best);
  BOOST_REQUIRE(law.has_value());
  BOOST_TEST(law->noise_batch.value == 100, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(law->eta_max.value == 0.5, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(law->rms < 1e-4);
  // Rates that are known to within a factor of 2 do not tell the law exactly, even if they fit it.
  for (BestRateAt& one : best) one.spacing = std::log(2);
  const RateLaw coarse = fit_rate_law(best).value();
  BOOST_TEST(coarse.noise_batch.interval.low < 50);
  BOOST_TEST(coarse.noise_batch.interval.high > 200);
  // The rates have no residuals. At an end their sum of squares is t^2 log(2)^2 / 12, t of two degrees of freedom.
  const auto squares = [&](double noise_batch) {
    double sum = 0, sum2 = 0;
    for (const BestRateAt& one : best) {
      const double log_most = std::log(one.rate * (1 + noise_batch / one.minibatch));
      sum += log_most, sum2 += log_most * log_most;
    }
    return sum2 - sum * sum / 4;
  };
  const double limit = std::pow(4.302652729696142 * std::log(2), 2) / 12;
  BOOST_TEST(squares(coarse.noise_batch.interval.low) == limit, boost::test_tools::tolerance(0.02));
  for (BestRateAt& one : best) one.spacing = std::log(100);
  const RateLaw unknown = fit_rate_law(best).value();
  BOOST_TEST(!unknown.noise_batch.interval.has_low());
  BOOST_TEST(!unknown.noise_batch.interval.has_high());
  BOOST_TEST(!fit_rate_law(std::span(best).first(2)));
  for (BestRateAt& one : best) one.rate = 0.001 * one.minibatch;  // in proportion everywhere, which does not tell B_n
  BOOST_TEST(!fit_rate_law(best));
  for (BestRateAt& one : best) one.rate = 0.5;  // eta_max everywhere
  BOOST_TEST(!fit_rate_law(best));
}

// The rates err by a factor of about 1.3, and are rounded to those of a sweep that has two in each octave.
BOOST_AUTO_TEST_CASE(intervals_of_the_rate_law_hold_it) {
  constexpr int kStudies = 400;
  for (const int minibatches : {3, 4, 8}) {
    std::mt19937_64 bits(7);
    std::normal_distribution<double> normal;
    int laws = 0, most = 0, noise = 0, open = 0;
    for (int study = 0; study < kStudies; ++study) {
      std::vector<BestRateAt> best;
      for (int i = 0; i < minibatches; ++i) {
        const double minibatch = std::pow(2.0, 3 + 7.0 * i / (minibatches - 1)), spacing = std::log(2) / 2;
        const double rate = std::log(0.5 / (1 + 100 / minibatch)) + 0.25 * normal(bits);
        best.push_back({minibatch, std::exp(spacing * std::round(rate / spacing)), spacing});
      }
      const std::optional<RateLaw> law = fit_rate_law(best);
      if (!law) continue;
      ++laws;
      most += test::holds(law->eta_max.interval, 0.5);
      noise += test::holds(law->noise_batch.interval, 100);
      open += !law->noise_batch.is_told();
    }
    BOOST_TEST_MESSAGE(minibatches << " minibatches: of " << laws << " laws eta_max " << most << ", B_n " << noise
                                   << " held, B_n open on both sides " << open);
    BOOST_TEST(most >= laws * 92 / 100);
    BOOST_TEST(noise >= laws * 92 / 100);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::law_comparison_test
