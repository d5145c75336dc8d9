#include "recipes/trials/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "optim/distributions.h"

namespace kb {

std::optional<MeanEnds> MeanOf::interval(bool is_share) const {
  if (!stddev || *stddev == 0) return std::nullopt;
  const auto n = static_cast<double>(count);
  const double half = student_t(0.025, n - 1) * *stddev / std::sqrt(n);
  if (is_share && mean > 0 && mean < 1) return logit_ends(mean, half);
  return least > 0 ? log_ends(mean, half) : MeanEnds{mean - half, mean + half};
}

std::optional<MeanOf> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  MeanOf result{std::accumulate(values.begin(), values.end(), 0.0) / count, std::nullopt, values.size(),
                *std::min_element(values.begin(), values.end())};
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.stddev = std::sqrt(squares / (count - 1));
  return result;
}

}  // namespace kb
