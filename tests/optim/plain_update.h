// The built-in update rules once more, as loops over doubles written from the papers: what the tests hold the graphs
// against.
#pragma once
#include <string>

namespace kb::test {

// One parameter by the papers' formulas. a and b are whatever the rule keeps.
struct Plain {
  double w = 0, a = 0, b = 0;
};

struct PlainStep {
  double g, d;            // gradient, decay by role
  double eta, before, t;  // learning rates of this step and of the last; updates done, this one counted
  double lambda, m, b1, b2, epsilon;
};

// One step of the optimizer of that name. Fails the running test where there is no formula for it.
void plain_update(const std::string& name, Plain& p, const PlainStep& s);

}  // namespace kb::test
