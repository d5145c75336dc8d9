#include "recipes/papers/reference_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/error.h"
#include "optim/distributions.h"

namespace kb {

// clang-format off
std::span<const ReferencePoint> reference_points() {
  static const std::vector<ReferencePoint> points = {
      {1632, 7.4, 2, 0.9, 5e-5, 27476, 204,
       {34, 34, 34, 35, 35, 37, 35, 35, 33, 35, 35, 37, 37, 35, 35, 34, 35}},
      {3264, 10.5, 2, 0.9, 5e-5, 14523, 204,
       {36, 35, 34, 34, 36, 35, 35, 35, 35, 37, 35, 35, 35, 36, 35}},
      {4096, 10, 5, 0.9, 2e-4, 13137, 64,
       {39, 42, 40, 41, 39, 40, 41, 39, 40, 39}},
      {8192, 17, 5, 0.9, 2e-4, 6095, 64,
       {42, 44, 43, 41, 41, 41, 42, 42, 43, 41}},
      {13056, 12.8, 9, 0.9, 2.5e-5, 4710, 204,
       {46, 46, 44, 46, 45, 46, 45, 45, 45, 46}},
      {32768, 21.2, 16, 0.94, 2.5e-5, 2267, 128,
       {56, 56, 55, 56, 56, 56, 56, 56, 57, 56}},
      {49152, 19.405, 24, 0.951807, 1e-4, 1846, 256,
       {68, 68, 68, 68, 69, 68, 68, 67, 69, 67}},
      {58880, 23.246, 29, 0.951807, 1e-4, 1785, 230,
       {80, 81, 80, 78, 80, 80, 81, 79, 80, 80}},
      {65536, 24.699, 31, 0.951807, 1e-4, 1133, 128,
       {83, 85, 84, 86, 85, 85, 83, 84, 85, 85}},
      {67840, 24.699, 31, 0.951807, 1e-4, 1133, 424,
       {86, 87, 86, 87, 86, 85, 86, 86, 86, 85, 86, 86, 86, 86,
        86, 85, 86, 86, 87, 85, 85, 86, 85, 87, 86, 85, 85, 86}}};
  return points;
}
// clang-format on

namespace {

constexpr double kAlpha = 0.05;  // significance level of the test

// Returns the sorted epochs without the least and the greatest. Throws Error for fewer than 3 runs.
std::vector<double> trimmed(std::span<const double> epochs) {
  if (epochs.size() < 3)
    throw Error(
        fmt::format("convergence: expected at least 3 runs, of which the fastest and the slowest do not count, "
                    "got {}",
                    epochs.size()));
  std::vector<double> sorted(epochs.begin(), epochs.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted.begin() + 1, sorted.end() - 1};
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double population_deviation(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Returns a point at `minibatch`, interpolated linearly between two others.
ConvergencePoint between(const ConvergencePoint& low, const ConvergencePoint& high, int64_t minibatch) {
  const double share =
      static_cast<double>(minibatch - low.minibatch) / static_cast<double>(high.minibatch - low.minibatch);
  return {minibatch, std::lerp(low.mean, high.mean, share), std::lerp(low.deviation, high.deviation, share),
          std::min(low.runs, high.runs)};
}

}  // namespace

ConvergencePoint convergence_point(int64_t minibatch, std::span<const double> epochs, Deviation deviation) {
  const std::vector<double> counted = trimmed(epochs);
  return {minibatch, mean_of(counted),
          population_deviation(deviation == Deviation::of_rules ? std::span<const double>(counted) : epochs),
          static_cast<int64_t>(counted.size())};
}

std::vector<ConvergencePoint> pruned(std::vector<ConvergencePoint> points) {
  const auto faster = [](const ConvergencePoint& a, const ConvergencePoint& b) { return a.mean < b.mean; };
  points.erase(points.begin(), std::min_element(points.begin(), points.end(), faster));
  for (size_t i = 1; i + 1 < points.size();) {
    if (points[i].mean <= between(points[i - 1], points[i + 1], points[i].minibatch).mean) {
      ++i;
      continue;
    }
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(i));
    i = 1;  // starts again, because the neighbours of the erased point have new neighbours
  }
  return points;
}

ConvergencePoint point_at(std::span<const ConvergencePoint> points, int64_t minibatch) {
  ensure(!points.empty(), "a test of convergence without points");
  if (minibatch > points.back().minibatch)
    throw Error(
        fmt::format("convergence: expected a minibatch of at most {}, the largest reference point's, got {}\n"
                    "  hint:     the rules ask for a new reference point above it",
                    points.back().minibatch, minibatch));
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const ConvergencePoint& point) { return point.minibatch >= minibatch; });
  if (above == points.begin() || above->minibatch == minibatch) return *above;
  return between(*(above - 1), *above, minibatch);
}

namespace {

// Returns the standard error of the difference of the reference's mean and that of `runs` runs.
double error_of_difference(const ConvergencePoint& reference, int64_t runs) {
  return reference.deviation * std::sqrt(1 / static_cast<double>(reference.runs) + 1 / static_cast<double>(runs));
}

double degrees_of(const ConvergencePoint& reference, int64_t runs) {
  return static_cast<double>(reference.runs + runs - 2);
}

}  // namespace

double least_mean(const ConvergencePoint& reference, int64_t runs) {
  return reference.mean - student_t(kAlpha, degrees_of(reference, runs)) * error_of_difference(reference, runs);
}

double chance_of_mean(const ConvergencePoint& reference, int64_t runs, double mean) {
  const double below = reference.mean - mean, error = error_of_difference(reference, runs);
  if (error == 0) return below > 0 ? 0 : 1;
  const double tail = student_outside(std::abs(below) / error, degrees_of(reference, runs)) / 2;
  return below > 0 ? tail : 1 - tail;
}

ConvergenceVerdict check_convergence(std::span<const ConvergencePoint> points, int64_t minibatch,
                                     std::span<const double> epochs) {
  const std::vector<double> counted = trimmed(epochs);
  ConvergenceVerdict verdict{point_at(points, minibatch), mean_of(counted)};
  verdict.least = least_mean(verdict.reference, static_cast<int64_t>(counted.size()));
  verdict.p = chance_of_mean(verdict.reference, static_cast<int64_t>(counted.size()), verdict.mean);
  verdict.passes = verdict.mean >= verdict.least;
  if (verdict.passes && verdict.mean < verdict.reference.mean)
    verdict.score_factor = verdict.reference.mean / verdict.mean;
  return verdict;
}

std::vector<ConvergencePoint> resnet_points(Deviation deviation) {
  std::vector<ConvergencePoint> points;
  for (const ReferencePoint& point : reference_points())
    points.push_back(convergence_point(point.minibatch, point.epochs, deviation));
  return pruned(std::move(points));
}

}  // namespace kb
