#include "optim/mean_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "graph/error.h"
#include "optim/distributions.h"

namespace kb {
namespace {

void check_steps(int64_t minibatch, std::span<const double> values) {
  for (const double steps : values)
    if (!(steps > 0) || !std::isfinite(steps))
      throw Error(fmt::format("steps to the target: expected steps above 0 at minibatch {}, got {}", minibatch, steps));
}

// Returns phi(z) / (1 - Phi(z)), the mean of a standard normal variable given that it exceeds z.
double mean_above(double z) {
  constexpr double kFar = 30;  // beyond this the tail underflows a double
  if (z > kFar) return z + 1 / z;
  return std::sqrt(2 / std::numbers::pi) * std::exp(-z * z / 2) / std::erfc(z / std::numbers::sqrt2);
}

// The runs of one minibatch: logarithms of their steps.
struct LogRuns {
  std::vector<double> hits, given_up;
  double minibatch = 1, mean = 0;

  explicit LogRuns(const StepsToTarget& at) : minibatch(static_cast<double>(at.minibatch)) {
    for (const double steps : at.steps) hits.push_back(std::log(steps));
    for (const double steps : at.given_up) given_up.push_back(std::log(steps));
    for (const double hit : hits) mean += hit / static_cast<double>(hits.size());
  }

  size_t runs() const { return hits.size() + given_up.size(); }

  // Returns the geometric mean as if the runs that were given up had reached the target at that moment.
  double least_mean() const {
    double sum = 0;
    for (const auto* values : {&hits, &given_up})
      for (const double value : *values) sum += value;
    return std::exp(sum / static_cast<double>(runs()));
  }

  // One step of expectation and maximisation: moves the mean to the mean of the expected steps, and returns their
  // expected sum of squares.
  double improve(double deviation) {
    double sum = 0, squares = 0;
    std::vector<double> expected = hits;
    for (const double least : given_up) {
      const double z = (least - mean) / deviation, above = mean_above(z);
      expected.push_back(mean + deviation * above);
      squares += deviation * deviation * (1 + z * above - above * above);
    }
    for (const double value : expected) sum += value;
    mean = sum / static_cast<double>(runs());
    for (const double value : expected) squares += (value - mean) * (value - mean);
    return squares;
  }

  // Returns the information that the runs have about the mean, in units of 1 / deviation^2.
  double weight(double deviation) const {
    auto sum = static_cast<double>(hits.size());
    for (const double least : given_up) {
      const double z = (least - mean) / deviation, above = mean_above(z);
      sum += above * (above - z);
    }
    return sum;
  }
};

// Returns whether two runs of one minibatch reached the target. Without them, runs that were given up fit any
// deviation.
bool tells_scatter(const std::vector<LogRuns>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const LogRuns& at) { return at.hits.size() > 1; });
}

struct LikeliestScatter {
  ScatterLaw law;
  std::vector<ScatterSample> samples;  // one for each minibatch
};

// Finds the greatest likelihood; returns the law of sigma and leaves the means in `runs`.
LikeliestScatter maximise(std::vector<LogRuns>& runs) {
  constexpr int kMostSteps = 1000;
  constexpr double kSame = 1e-10;
  std::vector<double> deviations(runs.size(), 0.1);
  LikeliestScatter found{{}, std::vector<ScatterSample>(runs.size())};
  auto& [law, samples] = found;
  for (int i = 0; i < kMostSteps; ++i) {
    for (size_t at = 0; at < runs.size(); ++at)
      samples[at] = {runs[at].minibatch, static_cast<int64_t>(runs[at].runs()) - 1, runs[at].improve(deviations[at])};
    law = fit_scatter(samples);
    double moved = 0;
    for (size_t at = 0; at < runs.size(); ++at) {
      const double next = law.at(runs[at].minibatch).deviation;
      moved = std::max(moved, std::abs(next / deviations[at] - 1));
      deviations[at] = next;
    }
    if (moved <= kSame) break;
  }
  return found;
}

// Returns the variance of log steps that are known to within the distance of evaluations, and to within one step.
double variance_of_grid(double resolution, double steps) {
  const double spacing = std::max(std::log1p(resolution), std::log1p(1 / steps));
  return spacing * spacing / 12;
}

// Returns the degrees of freedom of a variance of which one part, of seeds, has `degrees` and the rest, of the grid, is
// known (Satterthwaite 1946).
double joined_degrees(double of_seeds, double degrees, double of_grid) {
  constexpr double kMostDegrees = 1e9;
  const double share = of_seeds / (of_seeds + of_grid);
  return std::min(kMostDegrees, degrees / std::max(share * share, degrees / kMostDegrees));
}

}  // namespace

double geometric_mean(std::span<const double> values) {
  ensure(!values.empty(), "geometric_mean: of no values");
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

double censored_mean(const StepsToTarget& runs, double deviation) {
  constexpr int kMostSteps = 1000;
  constexpr double kSame = 1e-10;
  check_steps(runs.minibatch, runs.steps);
  check_steps(runs.minibatch, runs.given_up);
  if (runs.steps.empty()) return std::numeric_limits<double>::infinity();
  LogRuns logs(runs);
  if (deviation == 0) return logs.least_mean();
  for (int i = 0; i < kMostSteps; ++i) {
    const double before = logs.mean;
    logs.improve(deviation);
    if (std::abs(logs.mean - before) <= kSame * deviation) break;
  }
  return std::exp(logs.mean);
}

PooledSteps pooled_steps(std::span<const StepsToTarget> measured) {
  constexpr double kTail = 0.025;
  PooledSteps result;
  std::vector<LogRuns> runs;
  std::vector<const StepsToTarget*> reached;
  for (const StepsToTarget& at : measured) {
    check_steps(at.minibatch, at.steps);
    check_steps(at.minibatch, at.given_up);
    if (at.steps.empty()) continue;
    reached.push_back(&at);
    runs.emplace_back(at);
  }
  if (!tells_scatter(runs)) {
    for (size_t i = 0; i < runs.size(); ++i) result.means.push_back({reached[i]->minibatch, runs[i].least_mean()});
    return result;
  }
  const auto [law, samples] = maximise(runs);
  result.scatter = law;
  for (size_t i = 0; i < runs.size(); ++i) {
    MeanSteps mean{reached[i]->minibatch, std::exp(runs[i].mean)};
    const double of_grid = variance_of_grid(reached[i]->resolution, mean.steps);
    const auto variance_of_mean = [&](const SeedScatter& seeds) {
      const double of_seeds = seeds.deviation * seeds.deviation / runs[i].weight(seeds.deviation);
      return std::pair(of_seeds + of_grid, joined_degrees(of_seeds, seeds.degrees, of_grid));
    };
    std::tie(mean.variance, mean.degrees) = variance_of_mean(law.at(runs[i].minibatch));
    const auto [variance, degrees] = variance_of_mean(law.with(samples[i]));
    const double half = student_t(kTail, degrees) * std::sqrt(variance);
    mean.interval = {mean.steps * std::exp(-half), mean.steps * std::exp(half)};
    result.means.push_back(mean);
  }
  return result;
}

}  // namespace kb
