// pack_products: takes a graph in physical layouts; leaves one in which weights that many products of a step read, as
// those between the time steps of a recurrent layer, go through pack_weights once, where the library has an order of
// its own for them. Without it every product puts them in that order anew. The pass stands before the cut, which
// computes what depends on parameters alone once a step.
#include <map>
#include <utility>

#include "compiler/passes/parameter_space.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace kb {
namespace {

// The least number of products in a step, over all workers, for which weights are packed. Packing them takes the time
// that each product would spend on putting them in order.
constexpr int64_t kLeastProducts = 4;

class PackProducts : Rewriter {
 public:
  PackProducts(const Graph& from, const CompileOptions& options) : Rewriter(from), options_(options) {}

  Graph run() {
    const std::vector<uint8_t> of_parameters = parameter_only(from_);
    std::vector<Uses> uses;  // one for each weights and shapes, in the order of the graph
    std::map<int32_t, size_t> use_of;
    for (int32_t n = 0; n < from_.size(); ++n) {
      const Node& node = from_.node(n);
      if (node.op == Op::matmul && of_parameters[static_cast<size_t>(node.inputs[1].node)])
        use_of[n] = add_use(uses, node);
    }
    for (int32_t n = 0; n < from_.size(); ++n) {
      const auto use = use_of.find(n);
      if (use == use_of.end() || !multiply_packed(n, uses[use->second])) copy(n);
    }
    return finish();
  }

 private:
  // Products of equal attributes and shapes by the same weights.
  struct Uses {
    const Node* first;
    int64_t count = 0;
    bool is_asked = false;  // whether the library was asked for its order
    Value packed = {};      // in the new graph; invalid: the library takes the weights as they are
  };

  bool is_like(const Node& a, const Node& b) const {
    return a.inputs[1] == b.inputs[1] && a.attrs == b.attrs &&
           from_.type(a.inputs[0]).shape == from_.type(b.inputs[0]).shape;
  }

  size_t add_use(std::vector<Uses>& uses, const Node& node) const {
    size_t use = 0;
    while (use < uses.size() && !is_like(*uses[use].first, node)) ++use;
    if (use == uses.size()) uses.push_back({&node});
    ++uses[use].count;
    return use;
  }

  Value packed(Uses& uses) {
    if (std::exchange(uses.is_asked, true)) return uses.packed;
    if (uses.count * options_.workers.total() < kLeastProducts) return {};
    const Node& product = *uses.first;
    const Value weights = map(product.inputs[1]);
    Attrs attrs = product.attrs;
    attrs.set("usage", std::string("matmul"));
    attrs.set("x_shape", from_.type(product.inputs[0]).shape);
    const Node probe{Op::pack_weights, {weights}, attrs, {to_.type(weights)}, 0, -1};
    if (options_.target.library->packed_bytes(to_, probe) > 0)
      uses.packed = add(product, Op::pack_weights, {weights}, std::move(attrs));
    return uses.packed;
  }

  // Adds a product of packed weights in the place of an old one; returns false where these stay as they are.
  bool multiply_packed(int32_t n, Uses& uses) {
    const Value weights = packed(uses);
    if (!weights.valid()) return false;
    const Node& node = from_.node(n);
    Attrs attrs = node.attrs;
    attrs.set("packed", int64_t{1});
    replace({n, 0}, add(node, Op::matmul, {map(node.inputs[0]), weights}, std::move(attrs)));
    return true;
  }

  const CompileOptions& options_;
};

}  // namespace

Graph pack_products(Graph graph, CompileState& state) {
  const Target& target = state.options.target;
  if (target.processor == Processor::gpu || !target.library) return graph;
  return PackProducts(graph, state.options).run();
}

}  // namespace kb
