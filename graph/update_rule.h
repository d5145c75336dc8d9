// What an update rule reads and writes: one function of tensors updates all parameters of a model. The built-in rules
// are in optim/update_rules.cpp; a user's own is written the same way. The compiler makes the context
// (compiler/add_optimizer.cpp) and calls the rule once, when it compiles.
#pragma once
#include <functional>
#include <string>

#include "graph/tensor.h"

namespace kb {

// All tensors but scalars have one shape: that of the flat parameter space, seen as (blocks, 16).
struct UpdateContext {
  Tensor parameter;  // before the step
  Tensor gradient;   // of the mean loss over the global minibatch, without weight decay
  // 0 or 1 by role: whether weight decay and layer-wise adaptation apply to an element.
  std::function<Tensor()> decay, adapt;
  // A slot is a vector of the rule's own, zero before the first step: its value before the step, and what it has after
  // it. A slot that is read is also set, once.
  std::function<Tensor(const std::string& name)> slot;
  std::function<void(const std::string& name, Tensor value)> set_slot;
  // A scalar input of the step in the parameters' dtype (learning_rate, ...): never folded, so that another value
  // compiles nothing.
  std::function<Tensor(const std::string& name)> scalar;
};

using UpdateRule = std::function<Tensor(UpdateContext&)>;  // gives the new parameter

}  // namespace kb
