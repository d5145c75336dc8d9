// Student's t distribution, for intervals and tests of a few runs.
#pragma once
#include <cstdint>

namespace kb {

// Returns the probability that |T| is below t, of `degrees` of freedom, 1 or more.
double student_within(double t, int64_t degrees);

// Returns the quantile for 1 - alpha, one-sided.
double student_t(double alpha, int64_t degrees);

}  // namespace kb
