#include "optim/local_critical_batch.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kb {
namespace {

// Returns the variance of the values about their course, half the mean square of the steps from one to the next (von
// Neumann 1941): a slow trend hardly adds to it. Values are two or more.
double variance_about_course(std::span<const double> values) {
  double squares = 0;
  for (size_t i = 1; i < values.size(); ++i) squares += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  return squares / (2 * static_cast<double>(values.size() - 1));
}

// Returns its degrees of freedom. That variance of n normal values has the variance (3 n - 4) / (n - 1)^2 sigma^4, and
// a sum of squares with d degrees of freedom has 2 / d sigma^4.
double degrees_about_course(size_t values) {
  const auto count = static_cast<double>(values);
  return 2 * (count - 1) * (count - 1) / (3 * count - 4);
}

}  // namespace

AveragedLoss moving_average(std::span<const double> values, double alpha) {
  if (values.empty() || !(alpha > 0 && alpha <= 1))
    throw std::invalid_argument("moving average: it takes a value or more, and an alpha in (0, 1]");
  double average = values[0], square = 1;  // square: sum of the squares of the weights
  for (const double value : values.subspan(1)) {
    average = alpha * value + (1 - alpha) * average;
    square = alpha * alpha + (1 - alpha) * (1 - alpha) * square;
  }
  AveragedLoss result{average};
  const std::span<const double> last = values.last((values.size() + 1) / 2);
  if (last.size() < 2) return result;
  result.error = std::sqrt(variance_about_course(last) * square);
  result.degrees = degrees_about_course(last.size());
  return result;
}

AveragedLoss paired_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.empty())
    throw std::invalid_argument("paired difference: it takes as many values of one as of the other, one or more");
  const auto count = static_cast<double>(a.size());
  double mean = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) mean += (b[i] - a[i]) / count;
  for (size_t i = 0; i < a.size(); ++i) squares += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
  AveragedLoss result{mean};
  if (a.size() < 2) return result;
  result.error = std::sqrt(squares / (count - 1) / count);
  result.degrees = count - 1;
  return result;
}

bool loses_nothing(std::span<const BranchLoss> branches, size_t i, double tolerance) {
  const double loss = branches[i].loss;
  return std::isfinite(loss) &&
         std::all_of(branches.begin(), branches.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const BranchLoss& smaller) { return loss <= smaller.loss + tolerance; });
}

LocalCritical local_critical(std::span<const BranchLoss> branches, double tolerance) {
  const auto falls = std::adjacent_find(branches.begin(), branches.end(),
                                        [](const auto& one, const auto& next) { return next.factor <= one.factor; });
  if (branches.empty() || branches[0].factor != 1 || falls != branches.end() || !std::isfinite(branches[0].loss))
    throw std::invalid_argument("local critical minibatch: it takes branches in ascending order, the first with k = 1");
  size_t last = branches.size() - 1;
  while (!loses_nothing(branches, last, tolerance)) --last;
  LocalCritical critical{branches[last].factor};
  if (last + 1 < branches.size()) critical.above = branches[last + 1].factor;
  for (size_t i = 0; i < last; ++i)
    critical.is_monotone = critical.is_monotone && loses_nothing(branches, i, tolerance);
  return critical;
}

std::vector<WarmupGrowth> minibatch_warmup(std::span<const LocalMinibatch> places, int64_t base) {
  std::vector<WarmupGrowth> growths;
  int64_t now = base;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto least = std::min_element(places.begin() + static_cast<std::ptrdiff_t>(i), places.end(),
                                        [](const auto& a, const auto& b) { return a.minibatch < b.minibatch; });
    int64_t factor = 1;
    while (2 * factor * now <= least->minibatch) factor *= 2;
    if (factor > 1) growths.push_back({places[i].samples, factor});
    now *= factor;
  }
  return growths;
}

}  // namespace kb
