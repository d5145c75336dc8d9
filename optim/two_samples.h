// Comparisons of small independent samples, as the errors of two configurations with a few seeds each.
#pragma once
#include <optional>
#include <span>
#include <vector>

namespace kb {

struct MeanDifference {
  double difference = 0;     // means of the samples that are added less those that are subtracted
  double low = 0, high = 0;  // ends of the interval of the difference
  double degrees = 0;        // degrees of freedom (Welch and Satterthwaite)
};

using Samples = std::vector<std::span<const double>>;

// Returns the sum of the means of some samples less that of others, with its interval, which leaves out a probability
// `alpha` on each side. The variances may differ (Welch 1947, Biometrika 34, 28). Returns nothing when a sample has
// fewer than two values, when each has equal values, which tells no variance, or when a variance is beyond a double.
// Values are finite. With two samples of normal values and an alpha of 0.025 it covers 93 to 98 % where both have as
// many values, from two on; where the smaller one scatters three times as much, 92.7 % with 2 and 3, 93.5 % with 3 and
// 5, 89.6 % with 2 and 5 values (100,000 draws each).
std::optional<MeanDifference> mean_difference(const Samples& added, const Samples& subtracted, double alpha);

// If both samples have one distribution: the probability that the ranks of the first sum to at most what they do
// (below), and to at least that (above).
struct RankSumTails {
  double below = 1, above = 1;
};

// Returns the exact tails of the rank-sum test (Mann and Whitney 1947, Annals of Mathematical Statistics 18, 50) over
// all ways to deal out the values; equal values have their mean rank. A value may be infinite: a run that diverged is
// worse than any other, and equals another that diverged. Throws InternalError when a sample is empty.
RankSumTails rank_sum_tails(std::span<const double> first, std::span<const double> second);

}  // namespace kb
