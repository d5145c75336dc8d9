// Ends of the interval of a mean that has bounds. An interval that is symmetric about the mean may reach beyond them,
// and the mean of few skewed values lies below its expectation more often than above it.
#pragma once

namespace kb {

struct MeanEnds {
  double low = 0, high = 0;
};

// Return the ends of an interval that is symmetric on another scale, and near the mean as wide as one that reaches
// `half` to each side (delta method; Meeker and Escobar 1998, Statistical Methods for Reliability Data, chapter 7).
// log_ends: the logarithm, for a mean above 0; the upper end may be infinite. logit_ends: log(p / (1 - p)), for a share
// between 0 and 1.
MeanEnds log_ends(double mean, double half);
MeanEnds logit_ends(double mean, double half);

}  // namespace kb
