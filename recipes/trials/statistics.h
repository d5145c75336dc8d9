// Statistics of a few runs.
#pragma once
#include <optional>
#include <vector>

namespace kb {

// Mean and standard deviation of `count` values.
struct MeanOf {
  double mean = 0;
  std::optional<double> stddev = {};  // standard deviation of the sample (divisor: count - 1); nothing for one value
  size_t count = 0;
  // Half of the mean's 95 % interval, by Student's t; nothing for one value.
  std::optional<double> half_interval() const;
};

// Returns the mean and the standard deviation; nothing if there are no values.
std::optional<MeanOf> mean_of(const std::vector<double>& values);

}  // namespace kb
