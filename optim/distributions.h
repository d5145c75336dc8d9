// Student's t and the chi-squared distribution, for intervals and tests of a few runs.
#pragma once

namespace kb {

// Returns the probability that |T| > t, for t >= 0. `degrees` is at least 1 and need not be whole, as in Welch's test.
double student_outside(double t, double degrees);

// Returns the t that T exceeds with probability `alpha`, 0 < alpha <= 0.5.
double student_t(double alpha, double degrees);

// Returns the probability that a chi-squared variable exceeds x, for x >= 0 and `degrees` above 0.
double chi_squared_above(double x, double degrees);

}  // namespace kb
