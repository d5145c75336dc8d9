// An interval of a ratio of two means.
#pragma once
#include <optional>
#include <span>

namespace kb {

struct RatioInterval {
  double low = 0;
  std::optional<double> high = {};  ///< nothing: the denominator may be 0, so that the interval has no upper end
};

/// Two means, their variances and covariance, and the degrees of freedom of the variances.
struct MeanPair {
  double numerator = 0, denominator = 0;
  double numerator_variance = 0, denominator_variance = 0, covariance = 0;
  double degrees = 1;

  /// Returns the means of as many independent pairs. Throws std::invalid_argument for fewer than two, or spans of
  /// different lengths.
  static MeanPair of(std::span<const double> numerators, std::span<const double> denominators);
};

/// Returns Fieller's interval (1954) of 95 % of a ratio that is not negative, by Student's t.
RatioInterval fieller(const MeanPair& means);

/// Returns the same for a numerator whose values are not negative, so that a few large ones may be missing: above, the
/// numerator varies as far as its own interval on the logarithmic scale reaches (log_ends()), and the upper end of the
/// ratio follows as by the method of variance estimates recovery (Donner and Zou 2012, Statistical Methods in Medical
/// Research 21, 347). A numerator that is not above 0 has Fieller's interval.
RatioInterval fieller_of_positive(const MeanPair& means);

}  // namespace kb
