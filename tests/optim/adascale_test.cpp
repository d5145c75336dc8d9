#include "optim/adascale.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::adascale_test {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-12);

// Returns the mean squared norms of gradients with the squared mean `gradient2` and a covariance with trace `trace`.
GradientNorms expected_norms(double gradient2, double trace, const AdaScaleSizes& sizes) {
  const auto n = static_cast<double>(sizes.per_worker), k = static_cast<double>(sizes.workers);
  return {gradient2 + trace / n, gradient2 + trace / (n * k)};
}

double best_rate(double minibatch, double noise_scale) { return 1 / (1 + noise_scale / minibatch); }

std::vector<GradientNorms> random_norms(size_t count) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> size(1);
  std::vector<GradientNorms> all(count);
  for (GradientNorms& norms : all) {
    norms.minibatch = size(random);
    norms.worker = norms.minibatch + 4 * size(random);
  }
  return all;
}

// The gains by another implementation, which counts micro-batches: it takes decaying averages of the clamped estimates
// and corrects them for their start at 0. `squares` is the sum of |g|^2 over the micro-batches.
class MicroBatchGains {
 public:
  MicroBatchGains(double scale, double count) : scale_(scale), count_(count) {}

  void step(double squares, double total) {
    const double variance = squares * (scale_ / count_) / (count_ - 1) - total * scale_ / (count_ - 1);
    const double square = total - variance / scale_;
    const double theta = std::max(1 - scale_ / 1000, 0.0);
    variance_ = theta * variance_ + (1 - theta) * std::max(variance, 1e-6);
    square_ = theta * square_ + (1 - theta) * std::max(square, 0.0);
    biased_ *= theta;
  }
  double gain() const {
    const double variance = variance_ / (1 - biased_), square = square_ / (1 - biased_);
    return (variance + square) / (variance / scale_ + square);
  }

 private:
  const double scale_, count_;
  double variance_ = 0, square_ = 0, biased_ = 1;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(adascale)

BOOST_AUTO_TEST_CASE(the_gain_is_the_ratio_of_the_best_rates) {
  const double gradient2 = 0.7;
  for (const double base : {1.0, 32.0, 256.0})
    for (const double scale : {1.0, 2.0, 64.0, 5000.0})
      for (const double noise_scale : {0.01, 3.0, 900.0, 1e6}) {
        const double gain = adascale_gain(noise_scale * gradient2 / base, gradient2, scale);
        BOOST_TEST(gain == (1 + noise_scale / base) / (1 + noise_scale / (scale * base)), kClose);
        BOOST_TEST(gain == best_rate(scale * base, noise_scale) / best_rate(base, noise_scale), kClose);
        BOOST_TEST((gain >= 1 && gain <= scale));
      }
}

BOOST_AUTO_TEST_CASE(it_is_one_without_noise_and_the_scale_in_noise_alone) {
  BOOST_TEST(adascale_gain(0, 1, 32) == 1);
  BOOST_TEST(adascale_gain(1, 0, 32) == 32);
  BOOST_TEST(adascale_gain(1e-12, 1, 32) == 1, boost::test_tools::tolerance(1e-10));
  BOOST_TEST(adascale_gain(1e12, 1, 32) == 32, boost::test_tools::tolerance(1e-10));
}

// Exact norms give the gain of their noise scale, and the iterations are the sum of the gains.
BOOST_AUTO_TEST_CASE(exact_norms_give_the_gain_of_their_noise_scale) {
  const AdaScaleSizes sizes{16, 8, 32};
  const double gradient2 = 0.5, trace = 40, noise_scale = trace / gradient2;
  const double expected = (1 + noise_scale / 16) / (1 + noise_scale / 256);
  AdaScale gains(sizes);
  BOOST_TEST(gains.at(0).gain == 1);
  BOOST_TEST(gains.at(1).gain == 1);
  for (int step = 0; step < 40; ++step) {
    gains.add(expected_norms(gradient2, trace, sizes));
    BOOST_TEST(gains.at(step + 2).gain == expected, kClose);
    BOOST_TEST(gains.at(step + 2).iterations == 2 + step * expected, kClose);
  }
}

BOOST_AUTO_TEST_CASE(a_minibatch_of_the_base_has_the_gain_one) {
  AdaScale gains({64, 2, 32});
  for (const GradientNorms& norms : random_norms(20)) gains.add(norms);
  BOOST_TEST(gains.at(21).gain == 1);
  BOOST_TEST(gains.at(21).iterations == 21);
}

// The gain of step t averages the norms of steps 0 to t - 2. Some scales are below 1000 and some above; from 1000 on an
// average holds a single step.
BOOST_AUTO_TEST_CASE(averages_are_those_of_an_implementation_of_micro_batches) {
  for (const auto& [base, workers] : {std::pair<int64_t, int64_t>{12, 5}, {3, 5}, {1, 400}, {1, 3000}}) {
    const AdaScaleSizes sizes{base, workers, 3};
    const auto count = static_cast<double>(workers);
    AdaScale gains(sizes);
    MicroBatchGains plain(sizes.scale(), count);
    int64_t step = 0;
    double iterations = 2;
    for (const GradientNorms& norms : random_norms(300)) {
      gains.add(norms);
      plain.step(norms.worker * count, norms.minibatch);
      BOOST_TEST(gains.at(step + 2).gain == plain.gain(), boost::test_tools::tolerance(1e-9));
      BOOST_TEST(gains.at(step + 2).iterations == iterations, boost::test_tools::tolerance(1e-9));
      iterations += plain.gain();
      ++step;
    }
  }
}

// Returns the gain of gradients that are a fixed vector plus noise. In many dimensions the estimates of a step scatter
// little.
double mean_gain(double gradient, double sigma, const AdaScaleSizes& sizes) {
  constexpr size_t kDims = 2000;
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  const double deviation = sigma / std::sqrt(static_cast<double>(sizes.per_worker));
  AdaScale gains(sizes);
  const int64_t steps = 30;
  for (int64_t step = 0; step < steps; ++step) {
    GradientNorms norms;
    std::vector<double> total(kDims, 0);
    for (int64_t worker = 0; worker < sizes.workers; ++worker)
      for (double& sum : total) {
        const double own = gradient + deviation * normal(random);
        norms.worker += own * own / static_cast<double>(sizes.workers);
        sum += own / static_cast<double>(sizes.workers);
      }
    for (const double value : total) norms.minibatch += value * value;
    gains.add(norms);
  }
  return gains.at(steps + 1).gain;
}

BOOST_AUTO_TEST_CASE(samples_alike_gain_nothing_and_noise_gains_the_scale) {
  const AdaScaleSizes sizes{8, 16, 8};
  BOOST_TEST(mean_gain(1, 0, sizes) == 1, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(mean_gain(0, 1, sizes) > 0.95 * sizes.scale());
  const double noise_scale = 9;  // sigma^2 / gradient^2 = 3^2 / 1^2
  BOOST_TEST(mean_gain(1, 3, sizes) == (1 + noise_scale / 8) / (1 + noise_scale / 128),
             boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(norms_that_are_not_finite_change_no_average) {
  const std::vector<GradientNorms> all = random_norms(6);
  AdaScale gains({4, 4, 4}), spared({4, 4, 4});
  for (const GradientNorms& norms : all) gains.add(norms);
  const double gain = gains.at(7).gain, iterations = gains.at(7).iterations;
  gains.add({INFINITY, 1});
  gains.add({NAN, NAN});
  BOOST_TEST(gains.at(9).gain == gain);
  BOOST_TEST(gains.at(9).iterations == iterations + 2 * gain, kClose);
  spared.add({1, INFINITY});
  BOOST_TEST(spared.at(2).gain == 1);
  spared.add({0, 0});  // the least variance and no gradient
  BOOST_TEST(spared.at(3).gain == 4, kClose);
}

BOOST_AUTO_TEST_CASE(its_state_goes_on_to_the_same_bits) {
  const AdaScaleSizes sizes{3, 4, 6};
  const std::vector<GradientNorms> all = random_norms(50);
  for (const int64_t stop : {0, 1, 2, 3, 17}) {
    AdaScale whole(sizes), before(sizes);
    for (int64_t step = 0; step < 50; ++step) whole.add(all[static_cast<size_t>(step)]);
    for (int64_t step = 0; step < stop; ++step) before.add(all[static_cast<size_t>(step)]);
    BOOST_TEST(before.state().size() == AdaScale::kStateDigits);
    AdaScale after(sizes, stop, before.state());
    for (int64_t near = std::max<int64_t>(stop - 1, 0); near <= stop + 1; ++near) {
      BOOST_TEST(after.at(near).gain == before.at(near).gain);
      BOOST_TEST(after.at(near).iterations == before.at(near).iterations);
    }
    for (int64_t step = stop; step < 50; ++step) after.add(all[static_cast<size_t>(step)]);
    BOOST_TEST(after.state() == whole.state());
  }
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  BOOST_CHECK_THROW(AdaScale({1, 1, 32}), std::invalid_argument);
  BOOST_CHECK_THROW(AdaScale({65, 2, 32}), std::invalid_argument);
  BOOST_CHECK_THROW(AdaScale({0, 2, 32}), std::invalid_argument);
  BOOST_CHECK_EXCEPTION(AdaScale({1, 2, 32}, 3, "0123"), Error,
                        test::says("AdaScale: expected a state of 144 digits, got 4"));
  BOOST_CHECK_EXCEPTION(
      AdaScale({1, 2, 32}, 3, std::string(144, 'x')), Error,
      test::says("AdaScale: expected 16 hexadecimal digits of a finite number, got 'xxxxxxxxxxxxxxxx'"));
  BOOST_CHECK_THROW(AdaScale({1, 2, 32}, 3, std::string(144, 'f')), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::adascale_test
