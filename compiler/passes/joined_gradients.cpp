#include "compiler/passes/joined_gradients.h"

#include <algorithm>

#include "graph/functions.h"

namespace kb {
namespace {

constexpr size_t kLeastTerms = 3;  // with fewer, copies of the rows cost as much as the sum that they save

// Returns whether the node is a slice of neighbouring elements along the leading axis, whole along all others.
bool is_leading_slice(const Graph& graph, const Node& node) {
  if (node.op != Op::slice) return false;
  const Dims &from = graph.type(node.inputs[0]).shape, &to = node.type().shape;
  const bool is_dense = std::ranges::all_of(node.attrs.ints("step"), [](int64_t step) { return step == 1; });
  return is_dense && !from.empty() && std::equal(from.begin() + 1, from.end(), to.begin() + 1, to.end());
}

int64_t leading_begin(const Node& slice) { return slice.attrs.ints("begin")[0]; }

// Returns whether the node multiplies a matrix, as it lies, by a matrix.
bool is_product_of_rows(const Node& node) {
  return node.op == Op::matmul && node.type().rank() == 2 && node.attrs.integer("transpose_a") == 0 &&
         node.inputs[0] != node.inputs[1];
}

bool is_transposed(const Node& product) { return product.attrs.integer("transpose_b") != 0; }

}  // namespace

JoinedGradients::JoinedGradients(Graph& graph, const std::vector<bool>& needed) : graph_(graph) {
  for (size_t n = 0; n < needed.size(); ++n) {
    const std::optional<Kind> kind = needed[n] ? kind_of(graph.nodes[n]) : std::nullopt;
    if (!kind) continue;
    const Value v = graph.nodes[n].inputs[input_of(*kind)];
    if (needed[static_cast<size_t>(v.node)] && is_float(graph.type(v).dtype))
      uses_[{v, *kind}].push_back({static_cast<int32_t>(n)});
  }
  for (auto& [value, uses] : uses_)
    if (value.second == Kind::slices)
      std::ranges::sort(uses, {}, [&](const Use& use) { return leading_begin(node(use.node)); });
  std::erase_if(uses_,
                [&](const auto& entry) { return !can_join(entry.first.first, entry.first.second, entry.second); });
}

std::optional<JoinedGradients::Kind> JoinedGradients::kind_of(const Node& node) const {
  if (is_leading_slice(graph_, node)) return Kind::slices;
  if (is_product_of_rows(node)) return Kind::products;
  return {};
}

bool JoinedGradients::can_join(Value v, Kind kind, const Uses& uses) const {
  if (kind == Kind::slices) return are_whole(v, uses);
  const auto is_alike = [&](const Use& use) {
    return is_transposed(node(use.node)) == is_transposed(node(uses[0].node));
  };
  return uses.size() >= kLeastTerms && std::ranges::all_of(uses, is_alike);
}

// Returns whether the slices are v cut into two parts or more.
bool JoinedGradients::are_whole(Value v, const Uses& uses) const {
  int64_t end = 0;
  for (const Use& use : uses) {
    if (leading_begin(node(use.node)) != end) return false;
    end += node(use.node).type().shape[0];
  }
  return uses.size() > 1 && end == graph_.type(v).shape[0];
}

bool JoinedGradients::takes(int32_t n, size_t input) const {
  const std::optional<Kind> kind = kind_of(node(n));
  return kind && input == input_of(*kind) && uses_.contains({node(n).inputs[input], *kind});
}

void JoinedGradients::take(int32_t n, Tensor gradient) {
  const std::optional<Kind> kind = kind_of(node(n));
  if (!kind || !takes(n, input_of(*kind))) return;
  Uses& uses = uses_.at({node(n).inputs[input_of(*kind)], *kind});
  std::ranges::find(uses, n, &Use::node)->gradient = gradient;
}

std::vector<Tensor> JoinedGradients::gradients(Value v) const {
  std::vector<Tensor> found;
  for (const Kind kind : {Kind::slices, Kind::products}) {
    const auto at = uses_.find({v, kind});
    if (at == uses_.end()) continue;
    const auto flows = [](const Use& use) { return use.gradient.valid(); };
    if (std::ranges::any_of(at->second, flows)) found.push_back(joined(kind, at->second));
  }
  return found;
}

Tensor JoinedGradients::joined(Kind kind, const Uses& uses) const {
  std::vector<Tensor> operands, gradients;
  for (const Use& use : uses) {
    if (!use.gradient.valid() && kind != Kind::slices) continue;
    gradients.push_back(use.gradient.valid() ? use.gradient : full_like(Tensor(graph_, {use.node, 0}), 0));
    operands.emplace_back(graph_, node(use.node).inputs[0]);
  }
  const Tensor dy = concat(gradients, 0);
  if (kind == Kind::slices) return dy;
  const Tensor x = concat(operands, 0);
  return is_transposed(node(uses[0].node)) ? matmul(dy, x, true) : matmul(x, dy, true);
}

}  // namespace kb
