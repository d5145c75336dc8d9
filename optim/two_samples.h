// Comparisons of two small independent samples, such as the errors of two configurations under a few seeds each.
#pragma once
#include <optional>
#include <span>

namespace kb {

struct MeanDifference {
  double difference = 0;     // mean of the first sample less that of the second
  double low = 0, high = 0;  // ends of its interval
  double degrees = 0;        // degrees of freedom, by Welch and Satterthwaite
};

// Returns the difference of the means with its two-sided interval, which leaves out `alpha` on each side, where the
// variances may differ (Welch 1947, Biometrika 34, 28). Nothing where a sample has fewer than two values, or where
// neither scatters: equal values tell no variance. Values are finite.
std::optional<MeanDifference> mean_difference(std::span<const double> first, std::span<const double> second,
                                              double alpha);

// Probabilities, where both samples are of one distribution, that the ranks of the first sum up to no more than they
// do, and to no less.
struct RankSumTails {
  double below = 1, above = 1;
};

// Returns the exact tails of the rank-sum test (Mann and Whitney 1947, Annals of Mathematical Statistics 18, 50), over
// all ways to deal the values out, equal ones at their mean rank. Values may be infinite: a run that diverged is worse
// than any other, and equal to another that did. Throws InternalError of empty samples.
RankSumTails rank_sum_tails(std::span<const double> first, std::span<const double> second);

}  // namespace kb
