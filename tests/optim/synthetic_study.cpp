#include "tests/optim/synthetic_study.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <random>

namespace kb::test {
namespace {

double deviation_at(const StudyDesign& design, int64_t minibatch) {
  const auto log_of = [](int64_t count) { return std::log(static_cast<double>(count)); };
  if (design.growth == 1) return design.deviation;
  const double first = log_of(design.minibatches.front()), last = log_of(design.minibatches.back());
  return design.deviation * std::pow(design.growth, (log_of(minibatch) - first) / (last - first));
}

}  // namespace

std::vector<int64_t> doublings(int count) {
  std::vector<int64_t> all;
  for (int i = 1; i <= count; ++i) all.push_back(int64_t{1} << i);
  return all;
}

std::vector<StepsToTarget> synthetic_study(const StudyDesign& design, uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  const double most = design.given_up > 0
                          ? boost::math::quantile(boost::math::complement(boost::math::normal(), design.given_up))
                          : std::numeric_limits<double>::infinity();
  std::vector<StepsToTarget> study;
  for (const int64_t minibatch : design.minibatches) {
    study.push_back({minibatch});
    const double deviation = deviation_at(design, minibatch);
    const double steps = design.law.steps_at(static_cast<double>(minibatch)) * std::exp(design.shared * normal(bits));
    for (int run = 0; run < design.seeds; ++run) {
      const double score = normal(bits);
      if (score <= most)
        study.back().steps.push_back(steps * std::exp(deviation * score));
      else
        study.back().given_up.push_back(steps * std::exp(deviation * most));
    }
  }
  return study;
}

std::vector<StepsToTarget> exact_study(const ScalingLaw& law, int count) {
  return synthetic_study({law, doublings(count), 1, 0}, 1);
}

Calibration calibrate(const StudyDesign& design, int64_t studies) {
  const ScalingLaw& law = design.law;
  Calibration result;
  for (int64_t i = 1; i <= studies; ++i) {
    const std::vector<StepsToTarget> study = synthetic_study(design, static_cast<uint64_t>(i));
    const PooledSteps pooled = pooled_steps(study);
    for (const MeanSteps& mean : pooled.means) {
      ++result.means;
      const bool is_held = mean.interval && holds(*mean.interval, law.steps_at(static_cast<double>(mean.minibatch)));
      result.held += is_held;
      result.held_last += is_held && mean.minibatch == design.minibatches.back();
    }
    if (pooled.means.size() < kLeastMinibatches) continue;
    ++result.studies;
    const CriticalBatch fit = fit_critical_batch(pooled.means);
    const ScalingFit& answer = fit.answer;
    result.s_min += holds(answer.s_min.interval, law.s_min);
    result.b_crit += holds(answer.b_crit.interval, law.b_crit);
    result.e_min += holds(answer.e_min.interval, law.s_min * law.b_crit);
    result.perfect_end +=
        holds(answer.perfect_end.interval, law.b_crit * std::pow(std::pow(1 + kPerfectExcess, law.k) - 1, 1 / law.k));
    result.gain_end +=
        holds(answer.gain_end.interval, law.b_crit / std::pow(std::pow(1 + kGainExcess, law.k) - 1, 1 / law.k));
    result.rejected += fit.test && fit.test->rejects();
  }
  return result;
}

}  // namespace kb::test
