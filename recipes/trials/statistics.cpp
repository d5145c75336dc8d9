#include "recipes/trials/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/error.h"

namespace kb {

std::optional<MeanOf> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  MeanOf result{std::accumulate(values.begin(), values.end(), 0.0) / count, std::nullopt, values.size()};
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.stddev = std::sqrt(squares / (count - 1));
  return result;
}

double median_of(std::vector<double> values) {
  ensure(!values.empty(), "the median of no values");
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) / 2;
}

}  // namespace kb
