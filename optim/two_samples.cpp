#include "optim/two_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/error.h"
#include "optim/distributions.h"

namespace kb {
namespace {

struct SampleMoments {
  double mean = 0;
  double share = 0;    // variance of the mean
  double degrees = 0;  // degrees of freedom: number of values less one
};

SampleMoments sample_moments(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  SampleMoments moments;
  for (const double value : values) moments.mean += value / count;
  for (const double value : values) moments.share += (value - moments.mean) * (value - moments.mean);
  moments.degrees = count - 1;
  moments.share /= moments.degrees * count;
  return moments;
}

// Returns the rank of each value, doubled: the mean rank of equal values is then a whole number.
std::vector<size_t> doubled_ranks(const std::vector<double>& values) {
  std::vector<size_t> ranks;
  for (const double value : values) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double other) { return other < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    ranks.push_back(static_cast<size_t>(2 * below + equal + 1));
  }
  return ranks;
}

}  // namespace

std::optional<MeanDifference> mean_difference(const Samples& added, const Samples& subtracted, double alpha) {
  MeanDifference found;
  double variance = 0;
  std::vector<SampleMoments> all;
  for (const auto& [samples, sign] : {std::pair(&added, 1), std::pair(&subtracted, -1)})
    for (const std::span<const double> sample : *samples) {
      if (sample.size() < 2) return std::nullopt;
      const SampleMoments moments = sample_moments(sample);
      found.difference += sign * moments.mean;
      variance += moments.share;
      all.push_back(moments);
    }
  if (!(variance > 0) || !std::isfinite(variance)) return std::nullopt;
  double weight = 0;  // sums shares of the whole variance: squares of variances may be beyond a double
  for (const SampleMoments& one : all) weight += std::pow(one.share / variance, 2) / one.degrees;
  found.degrees = std::max(1.0, 1 / weight);  // rounding alone makes it less
  const double half = student_t(alpha, found.degrees) * std::sqrt(variance);
  found.low = found.difference - half;
  found.high = found.difference + half;
  return found;
}

RankSumTails rank_sum_tails(std::span<const double> first, std::span<const double> second) {
  ensure(!first.empty() && !second.empty(), "rank_sum_tails: expected two samples with values");
  std::vector<double> values(first.begin(), first.end());
  values.insert(values.end(), second.begin(), second.end());
  const std::vector<size_t> ranks = doubled_ranks(values);
  const size_t most = std::accumulate(ranks.begin(), ranks.end(), size_t{0});
  // ways[n][sum] is the number of ways to choose n of the ranks seen so far whose sum is `sum`.
  std::vector<std::vector<double>> ways(first.size() + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const size_t rank : ranks)
    for (size_t n = first.size(); n >= 1; --n)
      for (size_t sum = rank; sum <= most; ++sum) ways[n][sum] += ways[n - 1][sum - rank];
  const size_t seen = std::accumulate(ranks.begin(), ranks.begin() + std::ssize(first), size_t{0});
  double all = 0, below = 0, above = 0;
  for (size_t sum = 0; sum <= most; ++sum) {
    const double here = ways[first.size()][sum];
    all += here;
    if (sum <= seen) below += here;
    if (sum >= seen) above += here;
  }
  return {below / all, above / all};
}

}  // namespace kb
