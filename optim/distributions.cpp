#include "optim/distributions.h"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "graph/error.h"

namespace kb {
namespace {

boost::math::students_t distribution(double degrees) {
  ensure(degrees >= 1, "Student's t: expected degrees of freedom from 1 on");
  return boost::math::students_t(degrees);
}

}  // namespace

double student_outside(double t, double degrees) { return 2 * cdf(boost::math::complement(distribution(degrees), t)); }

double student_t(double alpha, double degrees) {
  return quantile(boost::math::complement(distribution(degrees), alpha));
}

double chi_squared_above(double x, double degrees) {
  return cdf(boost::math::complement(boost::math::chi_squared(degrees), x));
}

}  // namespace kb
