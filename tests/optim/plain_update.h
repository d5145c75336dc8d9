// The built-in update rules as loops over doubles, written from the papers. Tests compare the rules' graphs with them.
#pragma once
#include <span>
#include <string>

#include "optim/optimizer.h"

namespace kb::test {

// One parameter w, and the values a and b that its rule keeps between steps.
struct Plain {
  double w = 0, a = 0, b = 0;
};

struct PlainStep {
  double eta, before, t;  // learning rates of this step and of the last; updates done, this one counted
  std::span<const NamedScalar> hyper;
  bool adapted = true;                               // whether layer-wise rules adapt this layer
  double peak = 0, epoch = 0;                        // greatest learning rate; epochs done before this step
  double squares = 0;                                // sum of the squared learning rates, this step's included
  double operator[](const std::string& name) const;  // a hyper-parameter
};

// Takes one step of the optimizer `name` on one layer; `decay` is 1 or 0 for each parameter. Fails the running test if
// there is no formula of that name.
void plain_update(const std::string& name, std::span<Plain> layer, std::span<const double> gradient,
                  std::span<const double> decay, const PlainStep& s);

}  // namespace kb::test
