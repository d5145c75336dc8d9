// The median of measured values.
#pragma once
#include <vector>

namespace kb {

// Returns the median: the mean of the two values in the middle if their number is even. Throws InternalError if there
// are none.
double median_of(std::vector<double> values);

}  // namespace kb
