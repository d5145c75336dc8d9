// The fit of the critical minibatch: of exact laws, of noisy ones with its intervals, of MLPerf's table, and of steps
// that say nothing of one of its numbers.
#include "optim/critical_batch.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "graph/error.h"
#include "tests/says.h"

namespace kb::critical_batch_test {
namespace {

struct Law {
  double s_min, b_crit;
  double steps(double minibatch) const { return s_min * (1 + b_crit / minibatch); }
};

// Minibatches 2, 4, ..., 2 ^ `count`, with runs whose steps scatter log-normally around the law's: `deviation` of the
// seeds, `shared` of all seeds of a minibatch.
std::vector<StepsToTarget> synthetic_study(const Law& law, int count, int seeds, double deviation, double shared,
                                           uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<StepsToTarget> study;
  for (int i = 1; i <= count; ++i) {
    const int64_t minibatch = int64_t{1} << i;
    study.push_back({minibatch});
    const double steps = law.steps(static_cast<double>(minibatch)) * std::exp(shared * normal(bits));
    for (int run = 0; run < seeds; ++run) study.back().steps.push_back(steps * std::exp(deviation * normal(bits)));
  }
  return study;
}

std::vector<StepsToTarget> exact_study(const Law& law, int count) { return synthetic_study(law, count, 1, 0, 0, 1); }

// Share of 200 studies, in per cent, whose interval holds the true B_crit.
double coverage(int seeds, double deviation, double shared) {
  constexpr int kStudies = 200;
  const Law law{300, 64};
  int held = 0;
  for (uint64_t seed = 1; seed <= kStudies; ++seed) {
    const CriticalBatch fit =
        fit_critical_batch(synthetic_study(law, 11, seeds, deviation, shared, seed), {.resamples = 200});
    held += fit.b_crit.interval.low <= law.b_crit && law.b_crit <= fit.b_crit.interval.high;
  }
  return 100.0 * held / kStudies;
}

// MLPerf's reference convergence points of ResNet-50 (mlcommons/logging, rcps_resnet.json): minibatch, mean epochs to
// 75.9 % top-1.
constexpr double kImageNet = 1281167;  // samples of an epoch
constexpr std::pair<int64_t, double> kReferenceEpochs[] = {{1632, 35.0},  {3264, 35.2},  {4096, 40.0},  {8192, 42.0},
                                                           {13056, 45.4}, {32768, 56.0}, {49152, 68.0}, {58880, 79.9},
                                                           {65536, 84.5}, {67840, 85.9}};

std::vector<StepsToTarget> reference_study() {
  std::vector<StepsToTarget> study;
  for (const auto& [minibatch, epochs] : kReferenceEpochs)
    study.push_back({minibatch, {epochs * kImageNet / static_cast<double>(minibatch)}});
  return study;
}

bool holds(const Estimate& estimate, double value) {
  return estimate.interval.low <= value && value <= estimate.interval.high;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(critical_batch)

BOOST_AUTO_TEST_CASE(an_exact_law_is_found) {
  const auto near = boost::test_tools::tolerance(1e-9);
  for (const Law& law : {Law{300, 64}, Law{1, 2000}, Law{5e4, 3}}) {
    const std::vector<StepsToTarget> study = exact_study(law, 11);
    const CriticalBatch fit = fit_critical_batch(study);
    BOOST_TEST(fit.s_min.value == law.s_min, near);
    BOOST_TEST(fit.b_crit.value == law.b_crit, near);
    BOOST_TEST(fit.e_min.value == law.s_min * law.b_crit, near);
    BOOST_TEST(fit.b_crit.interval.low == law.b_crit, near);
    BOOST_TEST(fit.b_crit.interval.high == law.b_crit, near);
    BOOST_TEST(fit.rms < 1e-9);
    BOOST_TEST(fit.residuals.size() == 11u);
    BOOST_TEST((!fit.b_crit_is_lower_bound && !fit.b_crit_is_upper_bound));
    BOOST_TEST(fit.steps_at(100) == law.steps(100), near);
    BOOST_TEST(fit.samples_at(100) == 100 * law.steps(100), near);
    const LinearBatchFit line = fit_linear_batch(study);
    BOOST_TEST(line.b_crit().value() == law.b_crit, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(line.s_min == law.s_min, boost::test_tools::tolerance(1e-6));
  }
}

// McCandlish et al. 2018, section 2: (S / S_min - 1) (E / E_min - 1) = 1.
BOOST_AUTO_TEST_CASE(the_law_is_the_papers_trade_off) {
  const CriticalBatch fit = fit_critical_batch(exact_study({300, 64}, 11));
  for (const double minibatch : {1.0, 64.0, 3000.0})
    BOOST_TEST((fit.steps_at(minibatch) / fit.s_min.value - 1) * (fit.samples_at(minibatch) / fit.e_min.value - 1) == 1,
               boost::test_tools::tolerance(1e-9));
}

// No place nearby has a smaller sum of squares, whatever the steps are.
BOOST_AUTO_TEST_CASE(the_fit_is_the_least) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<StepsToTarget> study = synthetic_study({300, 64}, 8, 2, 0.3, 0.3, seed);
    const CriticalBatch fit = fit_critical_batch(study, {.resamples = 100});
    const auto squares = [&](double s_min, double b_crit) {
      double sum = 0;
      for (const StepsToTarget& at : study) {
        const double rest =
            std::log(geometric_mean(at.steps) / Law{s_min, b_crit}.steps(static_cast<double>(at.minibatch)));
        sum += rest * rest;
      }
      return sum;
    };
    const double s_min = fit.s_min.value, b_crit = fit.b_crit.value, least = squares(s_min, b_crit);
    for (const double factor : {0.5, 0.9, 0.999, 1.001, 1.1, 2.0}) {
      BOOST_TEST(squares(s_min * factor, b_crit) >= least);
      BOOST_TEST(squares(s_min, b_crit * factor) >= least);
      BOOST_TEST(squares(s_min / factor, b_crit * factor) >= least);
    }
  }
}

BOOST_AUTO_TEST_CASE(intervals_hold_the_truth_as_often_as_they_say) {
  for (const auto& [seeds, deviation, shared] :
       {std::tuple{3, 0.1, 0.0}, {1, 0.1, 0.0}, {3, 0.05, 0.1}, {5, 0.2, 0.0}}) {
    const double share = coverage(seeds, deviation, shared);
    BOOST_TEST_MESSAGE(fmt::format("{} seeds, deviation {}, shared {}: {} %", seeds, deviation, shared, share));
    BOOST_TEST(share >= 88);
    BOOST_TEST(share <= 99);
  }
}

BOOST_AUTO_TEST_CASE(resamples_are_the_same_every_time) {
  const std::vector<StepsToTarget> study = synthetic_study({300, 64}, 8, 3, 0.1, 0, 7);
  const CriticalBatch one = fit_critical_batch(study), again = fit_critical_batch(study);
  const CriticalBatch other = fit_critical_batch(study, {.seed = 1});
  BOOST_TEST(one.b_crit.interval.low == again.b_crit.interval.low);
  BOOST_TEST(one.b_crit.interval.high == again.b_crit.interval.high);
  BOOST_TEST(one.b_crit.value == other.b_crit.value);
  BOOST_TEST(one.b_crit.interval.low != other.b_crit.interval.low);
}

BOOST_AUTO_TEST_CASE(mlperfs_table) {
  const std::vector<StepsToTarget> study = reference_study();
  const LinearBatchFit line = fit_linear_batch(study);
  BOOST_TEST(line.e_min / kImageNet == 34.495, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(line.b_crit().value() == 46269, boost::test_tools::tolerance(1e-4));
  const CriticalBatch fit = fit_critical_batch(study);
  BOOST_TEST(fit.e_min.value / kImageNet == 34.687, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(fit.b_crit.value == 47053, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(holds(fit.e_min, 34.5 * kImageNet));
  BOOST_TEST(holds(fit.b_crit, 46000));
  BOOST_TEST(fit.rms < 0.04);
}

// As far as the steps go, B_crit may be as large as it likes.
BOOST_AUTO_TEST_CASE(perfect_scaling_alone_bounds_it_from_below) {
  for (const double deviation : {0.0, 0.05}) {
    const CriticalBatch fit = fit_critical_batch(synthetic_study({1e-6, 1e9}, 6, 3, deviation, 0, 3));
    BOOST_TEST(fit.b_crit_is_lower_bound);
    BOOST_TEST(!fit.b_crit_is_upper_bound);
    BOOST_TEST(fit.e_min.value == 1000, boost::test_tools::tolerance(0.1));
    BOOST_TEST(fit.b_crit.interval.low > 64);
    BOOST_TEST(fit.b_crit.value <= kWidestCritical * 64 * (1 + 1e-9));
  }
}

BOOST_AUTO_TEST_CASE(no_gain_alone_bounds_it_from_above) {
  const CriticalBatch fit = fit_critical_batch(synthetic_study({500, 1e-6}, 6, 3, 0.05, 0, 3));
  BOOST_TEST(fit.b_crit_is_upper_bound);
  BOOST_TEST(!fit.b_crit_is_lower_bound);
  BOOST_TEST(fit.s_min.value == 500, boost::test_tools::tolerance(0.1));
  BOOST_TEST(fit.b_crit.interval.high < 2);
}

BOOST_AUTO_TEST_CASE(steps_that_grow_give_a_line_without_a_critical_minibatch) {
  const std::vector<StepsToTarget> falling = {{1, {100}}, {2, {40}}, {4, {15}}};  // samples fall with the minibatch
  BOOST_TEST(fit_linear_batch(falling).s_min < 0);
  BOOST_TEST(!fit_linear_batch(falling).b_crit());
  BOOST_TEST(fit_critical_batch(falling).b_crit_is_lower_bound);
}

BOOST_AUTO_TEST_CASE(the_interval_of_a_mean) {
  const std::optional<ConfidenceInterval> interval = interval_of_mean({8, {90, 100, 110}}, {});
  BOOST_TEST(interval.value().low >= 87);
  BOOST_TEST(interval.value().low < 96);
  BOOST_TEST(interval.value().high > 103);
  BOOST_TEST(interval.value().high <= 113);
  BOOST_TEST(!interval_of_mean({8, {90}}, {}));
  BOOST_TEST(geometric_mean(std::vector<double>{4, 9}) == 6, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_fitted_is_refused) {
  const auto refuses = [](const std::vector<StepsToTarget>& study, const char* reason) {
    BOOST_CHECK_EXCEPTION(fit_critical_batch(study), Error, test::says("critical minibatch", reason));
    BOOST_CHECK_EXCEPTION(fit_linear_batch(study), Error, test::says("critical minibatch", reason));
  };
  refuses({}, "at 3 minibatches or more, got 0");
  refuses({{1, {5}}, {2, {3}}}, "at 3 minibatches or more, got 2");
  refuses({{1, {5}}, {2, {0}}, {4, {2}}}, "steps above 0 at minibatch 2, got 0");
  refuses({{1, {5}}, {2, {3, -1}}, {4, {2}}}, "steps above 0 at minibatch 2, got -1");
  refuses({{1, {5}}, {2, {std::numeric_limits<double>::infinity()}}, {4, {2}}}, "got inf");
  refuses({{1, {5}}, {2, {std::nan("")}}, {4, {2}}}, "got nan");
  refuses({{1, {5}}, {2, {}}, {4, {2}}}, "a run of minibatch 2");
  refuses({{1, {5}}, {1, {4}}, {4, {2}}}, "got 1 behind 1");
  refuses({{0, {5}}, {1, {4}}, {4, {2}}}, "ascend from 1 on, got 0");
  BOOST_CHECK_EXCEPTION(fit_critical_batch(exact_study({1, 4}, 4), {.resamples = 99}), Error,
                        test::says("resamples: expected a number in [100, 1000000], got 99"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::critical_batch_test
