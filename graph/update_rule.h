// The interface of an update rule: one function of tensors, which updates all parameters of a model. The built-in rules
// are in optim/update_rules.cpp, and a user writes one of their own the same way. The compiler makes the context
// (compiler/passes/add_optimizer.cpp) and calls the rule when it compiles.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace kb {

// A function of matrices of one shape, (number, rows, columns), which returns as many of the same shape.
using MatrixFunction = std::function<Tensor(Tensor matrices)>;

// Matrices of one shape, and slots of each of them. A slot has any shape; it starts, is read and is set as those of
// UpdateContext are.
struct MatrixBatch {
  Tensor values;  // (number, rows, columns)
  // Returns a slot of all the matrices, (number, shape...).
  std::function<Tensor(const std::string& name, const Dims& shape)> slot;
  std::function<void(const std::string& name, Tensor value)> set_slot;
};
using MatrixSlotFunction = std::function<Tensor(MatrixBatch& batch)>;

// A rule consists of point-wise functions, norm, spread, matrices and matrices_with_slots. Other functions would mix
// elements of different layers; they are refused by name. All tensors but scalars and one-value-a-layer ones have one
// shape, (blocks, elements of a block): the flat parameter space. Each block belongs to one layer, which here means one
// parameter of the model. Elements past the layer's end are 0.
struct UpdateContext {
  Tensor parameter;  // the parameters before the step
  Tensor gradient;   // gradient of the mean loss over the global minibatch, without weight decay
  // Each returns 1 for the elements to which weight decay, or layer-wise adaptation, applies and 0 for others, by their
  // roles.
  std::function<Tensor()> decay, adapt;
  // Returns decay() divided by each parameter's rate (Variable::rate). A rule whose weight decay stands beside its step
  // takes this one: learning_rate times it is the same for all rates, as in the package of Yang et al. 2022 (MuAdamW).
  std::function<Tensor()> decoupled_decay;
  // Returns the Euclidean norm of each layer of x, (layers, 1). It is summed in one fixed order for any number of
  // threads and processes.
  std::function<Tensor(Tensor x)> norm;
  // Returns the Euclidean norm, [], of the gradient over all parameters that the rule's losses move: those of its
  // group, and of other groups that the same losses move.
  std::function<Tensor()> gradient_norm;
  // Applies a function to the matrices of x, a value for every element such as a gradient, and returns its results in
  // their places. Layers of one shape are given together. The axes of a layer behind its first count as one, as those
  // of a filter (O, I, H, W). Throws Error if a layer of the group has fewer than two axes.
  std::function<Tensor(Tensor x, const MatrixFunction& f)> matrices;
  // Does as matrices(), with a function that keeps values of the matrices from step to step. Elements of a matrix stand
  // in the order of the parameter's own shape on every device, so that slots mean the same on all of them.
  std::function<Tensor(Tensor x, const MatrixSlotFunction& f)> matrices_with_slots;
  // Takes one value a layer, (layers, 1); returns it for each block of the layer, (blocks, 1), which broadcasts.
  std::function<Tensor(Tensor x)> spread;
  // A slot is a vector that the rule keeps from step to step; it is zero before the first. slot() returns its value
  // before the step, and set_slot() sets its value after it. A slot that is read must be set, once.
  std::function<Tensor(const std::string& name)> slot;
  std::function<void(const std::string& name, Tensor value)> set_slot;
  // Returns a slot that is added to the parameters where a step computes its loss and gradient; an evaluation reads the
  // parameters alone. A rule has at most one of these.
  std::function<Tensor(const std::string& name)> gradient_offset;
  // Records one value a layer, (layers, 1), under a name, as "trust", for the run's log; the update does not change by
  // it.
  std::function<void(const std::string& name, Tensor layers)> report = [](const std::string&, Tensor) {};
  // Returns a scalar input of the step, as learning_rate, in the parameters' dtype. It is never folded into a program,
  // so another value does not compile anything anew. Where parameters have rates of their own, learning_rate and
  // previous_learning_rate have one value for each element: the scalar times the parameter's rate.
  std::function<Tensor(const std::string& name)> scalar;
};

using UpdateRule = std::function<Tensor(UpdateContext&)>;  // returns the new parameter

// The roles to which, by default, neither weight decay applies (Goyal et al. 2017, section 5.1) nor layer-wise
// adaptation (the MLPerf reference's skip list).
inline const std::vector<Role> kSkippedRoles = {Role::bias, Role::norm_scale, Role::norm_shift};

}  // namespace kb
