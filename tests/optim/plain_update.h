// The built-in update rules once more, as loops over doubles written from the papers: what the tests hold the graphs
// against.
#pragma once
#include <span>
#include <string>

#include "optim/optimizer.h"

namespace kb::test {

// One parameter by the papers' formulas. a and b are whatever the rule keeps.
struct Plain {
  double w = 0, a = 0, b = 0;
};

struct PlainStep {
  double eta, before, t;  // learning rates of this step and of the last; updates done, this one counted
  std::span<const NamedScalar> hyper;
  bool adapted = true;                               // layer-wise
  double peak = 0, epoch = 0;                        // greatest learning rate; epochs done before this step
  double squares = 0;                                // sum of the squared learning rates, this one's among them
  double operator[](const std::string& name) const;  // a hyper-parameter
};

// One step of the optimizer of that name on one layer; `decay` is 1 or 0 for each parameter. Fails the running test
// where there is no formula for it.
void plain_update(const std::string& name, std::span<Plain> layer, std::span<const double> gradient,
                  std::span<const double> decay, const PlainStep& s);

}  // namespace kb::test
