#include "optim/critical_batch.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "graph/interpreter.h"

namespace kb {
namespace {

// One value a minibatch. Eigen computes on views of them and holds none itself: the runtime compiles Eigen's use of the
// heap with switches of its own (runtime/cpu/eigen/gemm.cpp), and a program has one of each of Eigen's functions.
using Values = std::vector<double>;

Eigen::Map<const Eigen::ArrayXd> view(const Values& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}
Eigen::Map<Eigen::ArrayXd> view(Values& values) { return {values.data(), static_cast<Eigen::Index>(values.size())}; }

void check_measured(std::span<const StepsToTarget> measured) {
  if (measured.size() < kLeastMinibatches)
    throw Error(fmt::format("critical minibatch: expected steps to the target at {} minibatches or more, got {}",
                            kLeastMinibatches, measured.size()));
  int64_t before = 0;
  for (const StepsToTarget& at : measured) {
    if (at.minibatch <= before)
      throw Error(fmt::format("critical minibatch: expected minibatches that ascend from 1 on, got {} behind {}",
                              at.minibatch, before));
    before = at.minibatch;
    if (at.steps.empty()) throw Error(fmt::format("critical minibatch: expected a run of minibatch {}", at.minibatch));
    for (const double steps : at.steps)
      if (!(steps > 0) || !std::isfinite(steps))
        throw Error(
            fmt::format("critical minibatch: expected steps above 0 at minibatch {}, got {}", at.minibatch, steps));
  }
}

void check_resampling(const Resampling& resampling) {
  constexpr int64_t kLeast = 100, kMost = 1'000'000;
  if (resampling.resamples < kLeast || resampling.resamples > kMost)
    throw Error(fmt::format("resamples: expected a number in [{}, {}], got {}", kLeast, kMost, resampling.resamples));
}

// B_crit / B of every minibatch.
auto critical_ratios(const Values& log_minibatches, double log_b_crit) {
  return (log_b_crit - view(log_minibatches)).exp();
}

// The law in log space, log S = log S_min + log(1 + B_crit / B). At any B_crit the best S_min is a mean, so that B_crit
// alone is searched for (variable projection: Golub and Pereyra 1973).
class LogLaw {
 public:
  struct Numbers {
    double log_s_min = 0, log_b_crit = 0;
  };

  explicit LogLaw(const Values& minibatches)
      : log_minibatches_(logarithms(minibatches)),
        least_(log_minibatches_.front() - std::log(kWidestCritical)),
        greatest_(log_minibatches_.back() + std::log(kWidestCritical)) {}

  // Of log B_crit.
  double least() const { return least_; }
  double greatest() const { return greatest_; }

  // Least squares by Gauss and Newton from the best of a few places; a step that gains nothing is halved.
  Numbers fit(const Values& log_steps) const {
    constexpr int kMostSteps = 100, kMostHalvings = 40;
    constexpr double kSame = 1e-13;
    double at = start(log_steps);
    double cost = cost_at(log_steps, at);
    for (int i = 0; i < kMostSteps; ++i) {
      double next = std::clamp(at + newton_step(log_steps, at), least_, greatest_);
      for (int halving = 0; halving < kMostHalvings && cost_at(log_steps, next) > cost; ++halving)
        next = (at + next) / 2;
      const double next_cost = cost_at(log_steps, next);
      if (next_cost > cost) break;
      const bool is_there = std::abs(next - at) < kSame;
      at = next;
      cost = next_cost;
      if (is_there) break;
    }
    return {(view(log_steps) - critical_ratios(log_minibatches_, at).log1p()).mean(), at};
  }

  // Of the steps from the law with the best S_min.
  Values residuals(const Values& log_steps, double log_b_crit) const {
    Values rest(log_steps.size());
    view(rest) = view(log_steps) - critical_ratios(log_minibatches_, log_b_crit).log1p();
    view(rest) -= view(rest).mean();
    return rest;
  }

 private:
  static Values logarithms(const Values& values) {
    Values logs(values.size());
    view(logs) = view(values).log();
    return logs;
  }

  double cost_at(const Values& log_steps, double log_b_crit) const {
    return view(residuals(log_steps, log_b_crit)).square().sum();
  }

  double newton_step(const Values& log_steps, double log_b_crit) const {
    Values slopes(log_minibatches_.size());  // of the law's log S over log B_crit, around their mean
    view(slopes) = 1 - 1 / (1 + critical_ratios(log_minibatches_, log_b_crit));
    view(slopes) -= view(slopes).mean();
    return (view(residuals(log_steps, log_b_crit)) * view(slopes)).sum() / view(slopes).square().sum();
  }

  double start(const Values& log_steps) const {
    constexpr int kPlaces = 33;
    const auto place = [&](int i) { return least_ + (greatest_ - least_) * i / (kPlaces - 1); };
    int best = 0;
    for (int i = 1; i < kPlaces; ++i)
      if (cost_at(log_steps, place(i)) < cost_at(log_steps, place(best))) best = i;
    return place(best);
  }

  const Values log_minibatches_;
  const double least_, greatest_;
};

double mean_logarithm(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

// Variance that the seeds of a minibatch give its mean logarithm, beside their deviations from it.
struct SeedScatter {
  std::vector<double> deviations;
  double variance_of_mean = 0;
};

// Deviations are widened so that draws from them have the variance of the runs, from which their mean was taken. Those
// of a single run are 0.
SeedScatter scatter_of(const StepsToTarget& runs) {
  const auto count = static_cast<double>(runs.steps.size());
  const double mean = mean_logarithm(runs.steps), wider = count > 1 ? std::sqrt(count / (count - 1)) : 0;
  SeedScatter scatter;
  for (const double steps : runs.steps) {
    scatter.deviations.push_back(wider * (std::log(steps) - mean));
    scatter.variance_of_mean += scatter.deviations.back() * scatter.deviations.back() / (count * count);
  }
  return scatter;
}

// Random numbers of one resample of one minibatch.
struct Draws {
  uint32_t seed, resample, place;

  // A number in [0, count).
  size_t pick(uint32_t draw, size_t count) const {
    const uint64_t word = philox({resample, place, draw, 0}, {seed, 0}).word[0];
    return static_cast<size_t>((word * count) >> 32);
  }
  // Mean of as many draws as there are values; draw 0 is for others.
  double mean_of(const std::vector<double>& values) const {
    double sum = 0;
    for (uint32_t i = 1; i <= values.size(); ++i) sum += values[pick(i, values.size())];
    return sum / static_cast<double>(values.size());
  }
};

ConfidenceInterval interval_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto percentile = [&](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const double next = values[std::min(below + 1, values.size() - 1)];
    return values[below] + (place - static_cast<double>(below)) * (next - values[below]);
  };
  return {percentile(0.025), percentile(0.975)};
}

// Makes steps anew that scatter around the fitted ones as the measured do: by their seeds, and by what these do not
// explain of the residuals.
class Resampler {
 public:
  // `log_steps`: means of the measured.
  Resampler(std::span<const StepsToTarget> measured, const Values& log_steps, const Values& residuals)
      : fitted_(log_steps), residuals_(residuals) {
    view(fitted_) -= view(residuals);
    const auto count = static_cast<double>(measured.size());
    double of_seeds = 0;
    for (const StepsToTarget& at : measured) {
      seeds_.push_back(scatter_of(at));
      of_seeds += seeds_.back().variance_of_mean / count;
    }
    const double freedom = count - 2;  // two numbers are fitted
    const double variance = view(residuals).square().sum() / freedom;
    const double unexplained = variance > of_seeds ? 1 - of_seeds / variance : 0;
    view(residuals_) *= std::sqrt(unexplained * count / freedom);
  }

  Values log_steps(uint32_t seed, uint32_t resample) const {
    Values result = fitted_;
    for (size_t i = 0; i < result.size(); ++i) {
      const Draws draws{seed, resample, static_cast<uint32_t>(i)};
      result[i] += residuals_[draws.pick(0, residuals_.size())] + draws.mean_of(seeds_[i].deviations);
    }
    return result;
  }

 private:
  Values fitted_, residuals_;
  std::vector<SeedScatter> seeds_;
};

void set_intervals(CriticalBatch& fit, const LogLaw& law, const Resampler& resampler, const Resampling& resampling) {
  std::vector<double> s_min, b_crit, e_min;
  for (int64_t i = 0; i < resampling.resamples; ++i) {
    const LogLaw::Numbers again = law.fit(resampler.log_steps(resampling.seed, static_cast<uint32_t>(i)));
    s_min.push_back(std::exp(again.log_s_min));
    b_crit.push_back(std::exp(again.log_b_crit));
    e_min.push_back(std::exp(again.log_s_min + again.log_b_crit));
  }
  fit.s_min.interval = interval_of(std::move(s_min));
  fit.b_crit.interval = interval_of(std::move(b_crit));
  fit.e_min.interval = interval_of(std::move(e_min));
  constexpr double kAtTheEnd = 1e-6;
  fit.b_crit_is_lower_bound = std::log(fit.b_crit.interval.high) > law.greatest() - kAtTheEnd;
  fit.b_crit_is_upper_bound = std::log(fit.b_crit.interval.low) < law.least() + kAtTheEnd;
}

}  // namespace

double geometric_mean(std::span<const double> values) {
  ensure(!values.empty(), "geometric_mean: of no values");
  return std::exp(mean_logarithm(values));
}

std::optional<ConfidenceInterval> interval_of_mean(const StepsToTarget& runs, const Resampling& resampling) {
  check_resampling(resampling);
  if (runs.steps.size() < 2) return std::nullopt;
  const std::vector<double> deviations = scatter_of(runs).deviations;
  const double mean = geometric_mean(runs.steps);
  std::vector<double> means;
  for (int64_t i = 0; i < resampling.resamples; ++i) {
    const Draws draws{resampling.seed, static_cast<uint32_t>(i), 0};
    means.push_back(mean * std::exp(draws.mean_of(deviations)));
  }
  return interval_of(std::move(means));
}

CriticalBatch fit_critical_batch(std::span<const StepsToTarget> measured, const Resampling& resampling) {
  check_measured(measured);
  check_resampling(resampling);
  Values minibatches, log_steps;
  for (const StepsToTarget& at : measured) {
    minibatches.push_back(static_cast<double>(at.minibatch));
    log_steps.push_back(mean_logarithm(at.steps));
  }
  const LogLaw law(minibatches);
  const LogLaw::Numbers numbers = law.fit(log_steps);
  const Values residuals = law.residuals(log_steps, numbers.log_b_crit);

  CriticalBatch fit;
  fit.s_min.value = std::exp(numbers.log_s_min);
  fit.b_crit.value = std::exp(numbers.log_b_crit);
  fit.e_min.value = fit.s_min.value * fit.b_crit.value;
  for (const double residual : residuals) fit.residuals.push_back(std::expm1(residual));
  fit.rms = std::sqrt(view(fit.residuals).square().mean());
  set_intervals(fit, law, Resampler(measured, log_steps, residuals), resampling);
  return fit;
}

LinearBatchFit fit_linear_batch(std::span<const StepsToTarget> measured) {
  check_measured(measured);
  Values minibatches, samples;
  for (const StepsToTarget& at : measured) {
    minibatches.push_back(static_cast<double>(at.minibatch));
    samples.push_back(minibatches.back() * geometric_mean(at.steps));
  }
  const double minibatch = view(minibatches).mean(), mean = view(samples).mean();
  const auto offsets = view(minibatches) - minibatch;
  const double slope = (offsets * (view(samples) - mean)).sum() / offsets.square().sum();
  return {mean - slope * minibatch, slope};
}

}  // namespace kb
