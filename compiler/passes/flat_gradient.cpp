#include "compiler/passes/flat_gradient.h"

#include <algorithm>

#include "compiler/fuse/materialise.h"

namespace kb {

Value below_reshapes(const Graph& graph, Value value) {
  while (graph.node(value).op == Op::reshape) value = graph.node(value).inputs[0];
  return value;
}

Value sum_below(const Graph& graph, Value value) {
  while (graph.node(value).op == Op::reshape || graph.node(value).op == Op::transpose)
    value = graph.node(value).inputs[0];
  return graph.node(value).op == Op::worker_sum ? value : Value{};
}

// A model may join sums over workers, too: its nodes stand before those of the update.
int32_t find_flat_gradient(const Graph& graph) {
  const auto is_sum = [&](Value part) { return sum_below(graph, part).valid(); };
  for (int32_t n = graph.size() - 1; n >= 0; --n)
    if (const Node& node = graph.node(n); is_placed_concat(graph, node) && std::ranges::any_of(node.inputs, is_sum))
      return n;
  return -1;
}

}  // namespace kb
