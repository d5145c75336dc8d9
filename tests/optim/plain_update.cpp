#include "tests/optim/plain_update.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::test {
namespace {

double adam_direction(Plain& p, const PlainStep& s, double g) {
  p.a = s.b1 * p.a + (1 - s.b1) * g;
  p.b = s.b2 * p.b + (1 - s.b2) * g * g;
  return p.a / (1 - std::pow(s.b1, s.t)) / (std::sqrt(p.b / (1 - std::pow(s.b2, s.t))) + s.epsilon);
}

}  // namespace

void plain_update(const std::string& name, Plain& p, const PlainStep& s) {
  const double g = s.g + s.lambda * s.d * p.w;
  if (name == "sgd") {
    p.w -= s.eta * g;
  } else if (name == "momentum") {
    p.a = s.m * p.a + g;
    p.w -= s.eta * p.a;
  } else if (name == "scaled-momentum") {
    p.a = s.m * (s.before > 0 ? s.eta / s.before : 1) * p.a + s.eta * g;
    p.w -= p.a;
  } else if (name == "uncorrected-momentum") {
    p.a = s.m * p.a + s.eta * g;
    p.w -= p.a;
  } else if (name == "nesterov") {
    p.a = s.m * p.a + g;
    p.w -= s.eta * (g + s.m * p.a);
  } else if (name == "adam") {
    p.w -= s.eta * adam_direction(p, s, g);
  } else if (name == "adamw") {
    const double decayed = p.w - s.eta * s.lambda * s.d * p.w;
    p.w = decayed - s.eta * adam_direction(p, s, s.g);
  } else {
    BOOST_FAIL("no formula for " << name);
  }
}

}  // namespace kb::test
