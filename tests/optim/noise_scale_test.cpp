#include "optim/noise_scale.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "optim/distributions.h"

namespace kb::noise_scale_test {
namespace {

// The gradient of a sample is `mean` plus noise, whose covariance is `variance` times the identity.
struct NoisyGradient {
  std::vector<double> mean;
  double variance;
  std::mt19937_64 random{7};

  GradientNorms norms(int64_t workers, int64_t per_worker) {
    std::normal_distribution<double> normal(0, std::sqrt(variance));
    std::vector<double> total(mean.size(), 0);
    GradientNorms result;
    for (int64_t worker = 0; worker < workers; ++worker) {
      std::vector<double> own(mean.size(), 0);
      for (int64_t sample = 0; sample < per_worker; ++sample)
        for (size_t i = 0; i < own.size(); ++i) own[i] += (mean[i] + normal(random)) / static_cast<double>(per_worker);
      for (size_t i = 0; i < own.size(); ++i) {
        result.worker += own[i] * own[i] / static_cast<double>(workers);
        total[i] += own[i] / static_cast<double>(workers);
      }
    }
    for (const double value : total) result.minibatch += value * value;
    return result;
  }
  double noise_scale() const {
    double gradient2 = 0;
    for (const double value : mean) gradient2 += value * value;
    return variance * static_cast<double>(mean.size()) / gradient2;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(noise_scale)

// The mean of |gradient over B samples|^2 is |G|^2 + tr(Sigma) / B. From such means, without noise, noise_sample()
// finds |G|^2 and tr(Sigma) again.
BOOST_AUTO_TEST_CASE(expected_norms_give_their_parts_back) {
  const double gradient2 = 3, trace = 50;
  for (const int64_t workers : {2, 8, 1000}) {
    const int64_t n = 4;
    const NoiseSample sample =
        noise_sample({gradient2 + trace / n, gradient2 + trace / static_cast<double>(n * workers)}, workers, n);
    BOOST_TEST(sample.gradient2 == gradient2, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(sample.trace == trace, boost::test_tools::tolerance(1e-12));
  }
}

// All pairs of four samples, each a worker's: means over them are exact. The covariance has the divisor N - 1.
BOOST_AUTO_TEST_CASE(draws_without_replacement_take_a_share_of_the_trace_from_the_gradient) {
  const std::vector<double> samples = {1, 2, 4, 9};
  constexpr double kMean = 4, kTrace = (9 + 4 + 0 + 25) / 3.0;
  GradientNorms norms;
  for (size_t i = 0; i < samples.size(); ++i)
    for (size_t j = 0; j < samples.size(); ++j) {
      if (i == j) continue;
      norms.worker += (samples[i] * samples[i] + samples[j] * samples[j]) / 2 / 12;
      norms.minibatch += std::pow((samples[i] + samples[j]) / 2, 2) / 12;
    }
  const NoiseSample sample = noise_sample(norms, 2, 1);
  BOOST_TEST(sample.trace == kTrace, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(sample.gradient2 == kMean * kMean - kTrace / 4, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(refuses_one_worker) {
  BOOST_CHECK_THROW(noise_sample({1, 1}, 1, 32), std::invalid_argument);
  BOOST_CHECK_THROW(noise_sample({1, 1}, 2, 0), std::invalid_argument);
  BOOST_CHECK_THROW(NoiseAverage(1.0), std::invalid_argument);
  BOOST_CHECK_THROW(NoiseAverage(-0.1), std::invalid_argument);
  BOOST_CHECK_NO_THROW(NoiseAverage(0.0));
}

BOOST_AUTO_TEST_CASE(there_is_no_estimate_of_one_step) {
  NoiseAverage average;
  BOOST_TEST(!average.estimate().has_value());
  average.add({1, 10});
  BOOST_TEST(!average.estimate().has_value());
  average.add({1, 10});
  BOOST_TEST(average.estimate()->samples == 10);
  BOOST_TEST(average.estimate()->low == 10, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(average.estimate()->high.value() == 10, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(weights_fall_with_age) {
  NoiseAverage average(0.5);
  for (const double trace : {8.0, 4.0, 2.0}) average.add({1, trace});
  const double trace = (0.25 * 8 + 0.5 * 4 + 2) / 1.75, square = (0.25 * 64 + 0.5 * 16 + 4) / 1.75;
  BOOST_TEST(average.estimate()->trace == trace, boost::test_tools::tolerance(1e-12));
  // The steps say as much as 7 / 3 of equal weight; the norm of the gradient does not scatter.
  const double half = student_t(0.025, 4.0 / 3) * std::sqrt((square - trace * trace) / (4.0 / 3));
  BOOST_TEST(average.estimate()->low == std::max(0.0, trace - half), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(average.estimate()->high.value() == trace * std::exp(half / trace), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_step_that_is_not_finite_counts_for_nothing) {
  NoiseAverage average;
  for (int step = 0; step < 5; ++step) average.add({1, 10});
  average.add({INFINITY, 10});
  average.add({1, NAN});
  BOOST_TEST(average.estimate()->samples == 10, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(finds_the_noise_scale_of_known_noise) {
  NoisyGradient gradient{{0.5, -1, 0.25, 0, 2}, 4};
  NoiseAverage average(0.999);
  for (int step = 0; step < 4000; ++step) average.add(noise_sample(gradient.norms(4, 8), 4, 8));
  BOOST_TEST(average.estimate()->samples == gradient.noise_scale(), boost::test_tools::tolerance(0.05));
}

// The interval should hold the truth in 95 of 100 studies.
BOOST_AUTO_TEST_CASE(the_interval_covers_the_truth) {
  int covered = 0, studies = 300;
  for (int study = 0; study < studies; ++study) {
    NoisyGradient gradient{{0.5, -1, 0.25, 0, 2}, 4, std::mt19937_64(static_cast<uint64_t>(study) + 1)};
    NoiseAverage average(0.99);
    for (int step = 0; step < 400; ++step) average.add(noise_sample(gradient.norms(4, 4), 4, 4));
    const NoiseScale scale = average.estimate().value();
    covered += scale.low <= gradient.noise_scale() && (!scale.high || gradient.noise_scale() <= *scale.high);
  }
  BOOST_TEST(covered >= 0.91 * studies);
  BOOST_TEST(covered <= 0.985 * studies);
}

// With the normal distribution's quantile in place of Student's t 82 % of the intervals do so.
BOOST_AUTO_TEST_CASE(the_interval_of_few_steps_covers_the_truth) {
  int covered = 0, studies = 400;
  for (int study = 0; study < studies; ++study) {
    NoisyGradient gradient{std::vector<double>(50, 0.5), 1, std::mt19937_64(static_cast<uint64_t>(study) + 1)};
    NoiseAverage average;
    for (int step = 0; step < 3; ++step) average.add(noise_sample(gradient.norms(4, 4), 4, 4));
    const NoiseScale scale = average.estimate().value();
    covered += scale.low <= gradient.noise_scale() && (!scale.high || gradient.noise_scale() <= *scale.high);
  }
  BOOST_TEST(covered >= 0.92 * studies);
  BOOST_TEST(covered <= 0.985 * studies);
}

// The noise of five steps varies log-normally. Fieller's interval, which is symmetric in it, holds in 85 %.
BOOST_AUTO_TEST_CASE(the_interval_covers_a_noise_that_varies_from_step_to_step) {
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  int covered = 0;
  constexpr int kStudies = 2000;
  for (int study = 0; study < kStudies; ++study) {
    NoiseAverage average;
    for (int step = 0; step < 5; ++step)
      average.add({1 + 0.05 * normal(bits), 10 * std::exp(0.75 * normal(bits) - 0.75 * 0.75 / 2)});
    const NoiseScale scale = average.estimate().value();
    covered += scale.low <= 10 && 10 <= scale.high.value();
  }
  BOOST_TEST_MESSAGE("covered " << covered << " of " << kStudies);
  BOOST_TEST(covered >= 0.9 * kStudies);
  BOOST_TEST(covered <= 0.965 * kStudies);
}

BOOST_AUTO_TEST_CASE(a_gradient_lost_in_noise_bounds_the_scale_from_below_alone) {
  NoisyGradient gradient{{0.001, 0, 0}, 100};
  NoiseAverage average;
  for (int step = 0; step < 50; ++step) average.add(noise_sample(gradient.norms(2, 4), 2, 4));
  BOOST_TEST(!average.estimate()->high.has_value());
  BOOST_TEST(average.estimate()->low > 0);
  BOOST_TEST(average.estimate()->low < gradient.noise_scale());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::noise_scale_test
