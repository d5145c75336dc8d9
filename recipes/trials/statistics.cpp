#include "recipes/trials/statistics.h"

#include <cmath>
#include <numeric>

#include "optim/distributions.h"

namespace kb {

std::optional<double> MeanOf::half_interval() const {
  if (!stddev) return std::nullopt;
  const auto n = static_cast<double>(count);
  return student_t(0.025, n - 1) * *stddev / std::sqrt(n);
}

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

}  // namespace kb
