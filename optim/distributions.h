// Student's t distribution, for intervals and tests of a few runs.
#pragma once

namespace kb {

// Returns the probability that |T| is below t, t >= 0. Degrees of freedom may be broken, as Welch's are: 1 or more.
double student_within(double t, double degrees);

// Returns the quantile for 1 - alpha, one-sided, 0 < alpha <= 0.5.
double student_t(double alpha, double degrees);

}  // namespace kb
