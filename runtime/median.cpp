#include "runtime/median.h"

#include <algorithm>
#include <cstddef>

#include "graph/error.h"

namespace kb {

double median_of(std::vector<double> values) {
  ensure(!values.empty(), "the median of no values");
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) / 2;
}

}  // namespace kb
