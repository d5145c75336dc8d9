// Functions that smooth and combine curves, and thin them so that a picture's size does not grow with the steps.
#pragma once
#include <cstddef>

#include "recipes/report/curves.h"

namespace kb {

// Returns a curve of at most 2 * columns + 2 points as it is. A longer one keeps its first and last point and, in each
// of `columns` equal parts, the points with the least and the greatest value, in their order.
Curve decimated(const Curve& curve, size_t columns);

// Returns the curve with every value replaced by the mean over a window around it, which has a hundredth of the points
// and is cut off at the ends. A curve with fewer than kLeastSmoothed points stays as it is.
inline constexpr size_t kLeastSmoothed = 200;
Curve smoothed(const Curve& curve);

// Returns the means over `parts` equal parts of the points, each at the last point of its part. A curve with at most
// `parts` points stays as it is.
Curve averaged(const Curve& curve, size_t parts);

// Returns medians in place of the means of averaged(); single outliers do not move them.
Curve medians(const Curve& curve, size_t parts);
// Returns the median of all values, NaN if there are none.
double median_of_curve(const Curve& curve);

Curve scaled(Curve curve, double factor);  // returns the curve with its values multiplied by `factor`

// Several curves combined into one band.
struct CurveBand {
  Curve mean;
  Curve low, high;  // least and greatest value, at the points of `mean`; empty if there is only one curve
};
// Returns the mean, the least and the greatest value at every point of the curve with the last step, over the curves
// that have begun and not ended there; between their points they are interpolated linearly. Empty curves are ignored.
CurveBand band_of(std::vector<Curve> curves);

// Returns the first and the last point of each of `columns` equal parts of the epochs, without points between two equal
// values. It suits a learning rate, which is constant except at its drops.
Curve column_ends(const Curve& curve, size_t columns);

}  // namespace kb
