// Stochastic gradient descent as a graph (compiler-independent: DSL ops over tensors).
#pragma once
#include "graph/functions.h"

namespace kb {

struct SgdInputs {
  Tensor parameter, gradient, decay;             // decay: 0 or 1, parameter's shape
  Tensor velocity;                               // before the step
  Tensor learning_rate, momentum, weight_decay;  // scalars
};

struct SgdResult {
  Tensor parameter, velocity;
};

// Momentum with a velocity free of the learning rate (Goyal et al. 2017, eq. 9; PyTorch's form), L2 decay lambda/2
// |w|^2 by role:
//   u <- m u + (g + lambda d w);  w <- w - eta u.
SgdResult sgd_momentum(const SgdInputs& in);

}  // namespace kb
