// Statistics of a few runs.
#pragma once
#include <optional>
#include <vector>

namespace kb {

struct MeanOf {
  double mean = 0;
  std::optional<double> stddev = {};  // of the sample, divided by count - 1; nothing of one value
  size_t count = 0;
};

// Returns nothing of no values.
std::optional<MeanOf> mean_of(const std::vector<double>& values);

// Throws InternalError of no values. The mean of the two in the middle where there is an even number.
double median_of(std::vector<double> values);

}  // namespace kb
