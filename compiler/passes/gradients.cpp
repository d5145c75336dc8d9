// Reverse-mode differentiation of a graph into the same graph (Griewank and Walther 2008, chapter 3). It visits each
// node once, from the loss backwards, and adds up the gradients of a value with several uses in the order in which it
// meets them, except for those that JoinedGradients joins. The time is nearly linear in the number of nodes.

#include <algorithm>
#include <unordered_map>

#include "compiler/passes/gradient_rules.h"
#include "compiler/passes/joined_gradients.h"
#include "compiler/passes/passes.h"
#include "graph/building.h"
#include "graph/functions.h"
#include "graph/report.h"
#include "graph/scope.h"

namespace kb {
namespace {

class Differentiation {
 public:
  Differentiation(Tensor loss, const std::vector<Tensor>& targets)
      : graph_(loss.graph()),
        loss_(loss),
        size_(static_cast<size_t>(loss.value().node) + 1),
        needed_(needed_nodes(targets)),
        joined_(graph_, needed_) {}

  void run() {
    if (!needed_[size_ - 1]) return;
    at_node(loss_.value().node, [&] { gradients_[loss_.value()] = constant(graph_, loss_.dtype(), 1.0); });
    for (size_t i = size_; i-- > 0;) {
      if (!needed_[i]) continue;
      add_joined(static_cast<int32_t>(i));
      visit(static_cast<int32_t>(i));
    }
  }

  // Returns the gradient with respect to `target`: zeros if the loss does not depend on it; f32 for a 16-bit target
  // whose gradient was summed in f32.
  Tensor gradient(const Tensor& target) {
    const auto found = gradients_.find(target.value());
    const bool exact =
        found != gradients_.end() && (found->second.dtype() == target.dtype() || is_low_precision(target.dtype()));
    if (exact) return found->second;
    Tensor result;
    at_node(target.value().node,
            [&] { result = found == gradients_.end() ? full_like(target, 0) : cast(found->second, target.dtype()); });
    return result;
  }

 private:
  // A node is needed if it is a target or if a gradient can flow from it to a target.
  std::vector<bool> needed_nodes(const std::vector<Tensor>& targets) const {
    std::vector<bool> needed(size_, false);
    for (const Tensor& target : targets) {
      const auto node = static_cast<size_t>(target.value().node);
      if (node < size_) needed[node] = true;
    }
    for (size_t i = 0; i < size_; ++i) {
      const Node& node = graph_.nodes[i];
      if (gradient_rule(node.op) == nullptr || !is_float(node.type().dtype)) continue;
      if (std::ranges::any_of(node.inputs, [&](Value v) { return is_needed(v, needed); })) needed[i] = true;
    }
    return needed;
  }

  bool is_needed(Value v, const std::vector<bool>& needed) const {
    return needed[static_cast<size_t>(v.node)] && is_float(graph_.type(v).dtype);
  }

  // Adds the joined gradients of a node's outputs, whose uses have all been visited.
  void add_joined(int32_t index) {
    at_node(index, [&] {
      const auto outputs = static_cast<int32_t>(graph_.node(index).outputs.size());
      for (int32_t out = 0; out < outputs; ++out)
        for (const Tensor& gradient : joined_.gradients({index, out})) accumulate({index, out}, gradient);
    });
  }

  void visit(int32_t index) {
    const Node& node = graph_.node(index);
    const GradientRule rule = gradient_rule(node.op);
    std::vector<bool> needs;
    for (const Value v : node.inputs) needs.push_back(is_needed(v, needed_));
    if (rule == nullptr || std::ranges::count(needs, true) == 0) return;
    std::vector<Tensor> gradients(node.outputs.size());
    bool flows = false;
    for (size_t o = 0; o < gradients.size(); ++o) {
      const auto found = gradients_.find({index, static_cast<int32_t>(o)});
      if (found == gradients_.end()) continue;
      gradients[o] = found->second;
      flows = true;
    }
    if (!flows) return;
    at_node(index, [&] {
      for (size_t o = 0; o < gradients.size(); ++o) {
        const DType dtype = graph_.type({index, static_cast<int32_t>(o)}).dtype;
        if (gradients[o].valid()) gradients[o] = in_dtype(gradients[o], dtype, graph_.node(index));
      }
      joined_.take(index, gradients[0]);
      for (size_t i = 0; i < needs.size(); ++i) needs[i] = needs[i] && !joined_.takes(index, i);
      if (std::ranges::count(needs, true) == 0) return;
      rule(BackwardNode(graph_, index, std::move(gradients), std::move(needs),
                        [&](Value v, Tensor gradient) { accumulate(v, gradient); }));
    });
  }

  // Gradients of weights may have a wider dtype than the weights (f32 for bf16). A cast passes such a gradient on;
  // other nodes work in their own dtype.
  static Tensor in_dtype(const Tensor& gradient, DType dtype, const Node& node) {
    return gradient.dtype() == dtype || node.op == Op::cast ? gradient : cast(gradient, dtype);
  }

  void accumulate(Value v, Tensor gradient) {
    const DType dtype = graph_.type(v).dtype;
    if (size_of(gradient.dtype()) < size_of(dtype)) gradient = cast(gradient, dtype);
    const auto [at, is_first] = gradients_.try_emplace(v, gradient);
    if (is_first) return;
    Tensor& sum = at->second;
    const DType wider = size_of(sum.dtype()) < size_of(gradient.dtype()) ? gradient.dtype() : sum.dtype();
    const auto widened = [&](const Tensor& t) { return t.dtype() == wider ? t : cast(t, wider); };
    sum = widened(sum) + widened(gradient);
  }

  // Calls `build`. The nodes that it adds get the scope and source line of the forward node to which they belong.
  template <class F>
  void at_node(int32_t node, F&& build) {
    const Node& forward = graph_.node(node);
    const Origin origin(graph_, forward.scope, forward.frame);
    build();
  }

  Graph& graph_;
  Tensor loss_;
  size_t size_;
  std::vector<bool> needed_;
  JoinedGradients joined_;
  std::unordered_map<Value, Tensor, ValueHash> gradients_;
};

void check(const Tensor& loss, const std::vector<Tensor>& with_respect_to, Tensor::Where where) {
  const Call call(where);
  std::vector<Tensor> all = with_respect_to;
  all.insert(all.begin(), loss);
  require_same_graph("gradients", all);
  if (loss.rank() != 0 || !is_float(loss.dtype()))
    report("gradients", {"the loss is no number", "a scalar of a float dtype", to_string(loss.type()), "sum(...)"});
  for (const Tensor& x : with_respect_to)
    if (!is_float(x.dtype()))
      report("gradients", {"a derivative by numbers that are no floats", "tensors of float dtypes", to_string(x.type()),
                           "y = cast(x, DType::f32), of which the loss is a function"});
}

}  // namespace

std::vector<Tensor> gradients(Tensor loss, const std::vector<Tensor>& with_respect_to, Tensor::Where where) {
  check(loss, with_respect_to, where);
  Differentiation differentiation(loss, with_respect_to);
  differentiation.run();
  std::vector<Tensor> result;
  for (const Tensor& target : with_respect_to) result.push_back(differentiation.gradient(target));
  return result;
}

}  // namespace kb
