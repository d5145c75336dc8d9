// Gradient rules: one row an op (gradient_rules.cpp). A rule sees one node of the forward graph and the gradients of
// its outputs, and gives gradients to those inputs that need one. Rules are written in the DSL, so that what they build
// can be differentiated again.
#pragma once
#include <functional>
#include <vector>

#include "graph/tensor.h"

namespace kb {

class BackwardNode {
 public:
  using Give = std::function<void(Value input, Tensor gradient)>;

  // `output_gradients` holds one tensor an output, invalid where none flows; `needs` tells which inputs want one.
  BackwardNode(Graph& graph, int32_t node, std::vector<Tensor> output_gradients, std::vector<bool> needs, Give give);

  Graph& graph() const { return graph_; }
  Op op() const { return node_.op; }
  const Attrs& attrs() const { return node_.attrs; }
  size_t inputs() const { return node_.inputs.size(); }
  Tensor in(size_t i) const { return {graph_, node_.inputs[i]}; }
  Tensor out(int32_t i = 0) const { return {graph_, {index_, i}}; }
  Tensor gradient(size_t i = 0) const { return gradients_[i]; }
  bool needs(size_t i) const { return needs_[i]; }
  void give(size_t i, const Tensor& gradient) const { give_(node_.inputs[i], gradient); }

 private:
  Graph& graph_;
  int32_t index_;
  Node node_;  // a copy: rules add nodes to the graph
  std::vector<Tensor> gradients_;
  std::vector<bool> needs_;
  Give give_;
};

using GradientRule = void (*)(const BackwardNode& node);

// Returns the op's rule; null if no gradient flows through the op (leaves, stop_gradient, indices, comparisons).
GradientRule gradient_rule(Op op);

// The rule of point-wise ops. It expands the derivative formulas of the op table into nodes (gradient_pointwise.cpp).
void pointwise_gradient(const BackwardNode& node);

// Sums x over `axes`, which the result lacks. When x is a product, factors that do not vary along the axes are pulled
// out of the sum (gradient_sum.cpp).
Tensor sum_of_product(const Tensor& x, const Ints& axes);

}  // namespace kb
