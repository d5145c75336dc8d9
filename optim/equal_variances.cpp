#include "optim/equal_variances.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "optim/distributions.h"

namespace kb {
namespace {

struct SampleVariance {
  ScatterAt at;
  double degrees = 0, variance = 0;  // variance: that of the log steps over the law's
};

SampleVariance variance_of(const StepsToTarget& runs, const ScatterLaw& law) {
  const auto count = static_cast<double>(runs.steps.size());
  const double mean = std::log(geometric_mean(runs.steps));
  double squares = 0;
  for (const double steps : runs.steps) squares += std::pow(std::log(steps) - mean, 2);
  const double of_law = law.at(static_cast<double>(runs.minibatch)).deviation;
  return {
      {runs.minibatch, std::sqrt(squares / (count - 1)), of_law}, count - 1, squares / (count - 1) / (of_law * of_law)};
}

double bartlett_statistic(const std::vector<SampleVariance>& samples) {
  double degrees = 0, pooled = 0, logs = 0, inverses = 0;
  for (const SampleVariance& one : samples) {
    degrees += one.degrees;
    pooled += one.degrees * one.variance;
    logs += one.degrees * std::log(one.variance);
    inverses += 1 / one.degrees;
  }
  const double correction = 1 + (inverses - 1 / degrees) / (3 * (static_cast<double>(samples.size()) - 1));
  return (degrees * std::log(pooled / degrees) - logs) / correction;
}

}  // namespace

bool all_tie(const StepsToTarget& runs) {
  return runs.steps.size() > 1 &&
         std::all_of(runs.steps.begin(), runs.steps.end(), [&](double steps) { return steps == runs.steps.front(); });
}

std::optional<EqualVariancesTest> test_equal_variances(std::span<const StepsToTarget> measured, const ScatterLaw& law) {
  std::vector<SampleVariance> samples;
  for (const StepsToTarget& at : measured)
    if (at.steps.size() > 1 && at.given_up.empty() && !all_tie(at)) samples.push_back(variance_of(at, law));
  std::erase_if(samples, [](const SampleVariance& one) { return one.variance == 0; });  // steps differ by rounding
  if (samples.size() < 2) return std::nullopt;
  const auto [least, greatest] =
      std::minmax_element(samples.begin(), samples.end(),
                          [](const SampleVariance& a, const SampleVariance& b) { return a.variance < b.variance; });
  EqualVariancesTest test;
  test.statistic = std::max(0.0, bartlett_statistic(samples));
  test.degrees = static_cast<int64_t>(samples.size()) - 1;
  test.p = chi_squared_above(test.statistic, static_cast<double>(test.degrees));
  test.least = least->at, test.greatest = greatest->at;
  return test;
}

}  // namespace kb
