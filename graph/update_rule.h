// Interface of an update rule: one function of tensors, which updates all parameters of a model. The built-in rules are
// in optim/update_rules.cpp; a user's own is written the same way. The compiler makes the context
// (compiler/add_optimizer.cpp) and calls the rule when it compiles.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace kb {

// A rule is made of point-wise functions, norm and spread; another one on elements or blocks, which belong to all
// layers, is refused by name.
// All tensors but scalars and those of layers have one shape: that of the flat parameter space, seen as (blocks,
// elements of a block). Each block belongs to one layer: one parameter of the model; elements past a layer's end are 0.
struct UpdateContext {
  Tensor parameter;  // before the step
  Tensor gradient;   // of the mean loss over the global minibatch, without weight decay
  // 0 or 1 by role: whether weight decay and layer-wise adaptation apply to an element.
  std::function<Tensor()> decay, adapt;
  // The Euclidean norm of each layer of x: (layers, 1). Summed in one fixed order, whatever the number of threads and
  // processes.
  std::function<Tensor(Tensor x)> norm;
  // One value a layer, (layers, 1), beside every block of the layer: (blocks, 1), which broadcasts.
  std::function<Tensor(Tensor x)> spread;
  // A slot is a vector of the rule's own, zero before the first step: its value before the step, and what it has after
  // it. A slot that is read is also set, once.
  std::function<Tensor(const std::string& name)> slot;
  std::function<void(const std::string& name, Tensor value)> set_slot;
  // A slot too, which is added to the parameters where a step computes its loss and gradient; an evaluation reads the
  // parameters alone. A rule has one such slot at most.
  std::function<Tensor(const std::string& name)> gradient_offset;
  // Notes one value a layer, (layers, 1), under a name for who looks on ("trust"); it changes nothing.
  std::function<void(const std::string& name, Tensor layers)> report = [](const std::string&, Tensor) {};
  // A scalar input of the step in the parameters' dtype (learning_rate, ...): never folded, so that another value
  // compiles nothing.
  std::function<Tensor(const std::string& name)> scalar;
};

using UpdateRule = std::function<Tensor(UpdateContext&)>;  // gives the new parameter

// Roles without weight decay (Goyal et al. 2017, section 5.1), and without layer-wise adaptation (the MLPerf
// reference's skip list), where nobody says otherwise.
inline const std::vector<Role> kSkippedRoles = {Role::bias, Role::norm_scale, Role::norm_shift};

}  // namespace kb
