// Curves with fewer points, so that a picture's size does not grow with the number of steps.
#pragma once
#include <cstddef>

#include "recipes/report/curves.h"

namespace kb {

// A curve of at most 2 * columns + 2 points as it is; of a longer one the first and the last point, and of each of
// `columns` equal parts of its points the least and the greatest, in the order in which they stand.
Curve decimated(const Curve& curve, size_t columns);

// Mean over a window around each point, as much of it as there is: a hundredth of the points; with fewer than
// kLeastSmoothed points the curve as it is.
inline constexpr size_t kLeastSmoothed = 200;
Curve smoothed(const Curve& curve);

// Means over equal parts of the points, of which there are as many as `parts`; with fewer points the curve as it is.
// Each mean stands at the last point of its part.
Curve averaged(const Curve& curve, size_t parts);

// Likewise medians, each at the last point of its part: steady where single values jump.
Curve medians(const Curve& curve, size_t parts);
// Of all values; NaN where there is none.
double median_of_curve(const Curve& curve);

Curve scaled(Curve curve, double factor);

// Several curves as one.
struct CurveBand {
  Curve mean;
  Curve low, high;  // least and greatest value, at the points of `mean`; empty: of one curve
};
// Returns, at the points of the curve that goes furthest, mean, least and greatest value of the curves that have begun
// and not ended there, each straight between its points. Empty curves are passed over.
CurveBand band_of(std::vector<Curve> curves);

// The first and the last point of each of `columns` equal parts of the epochs, those left out that lie between two
// equal values: a learning rate is flat, but for its drops.
Curve column_ends(const Curve& curve, size_t columns);

}  // namespace kb
