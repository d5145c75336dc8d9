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

int32_t find_flat_gradient(const Graph& graph) {
  int32_t found = -1;
  for (int32_t n = 0; n < graph.size(); ++n) {
    const Node& node = graph.node(n);
    if (!is_placed_concat(graph, node)) continue;
    const bool sums =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value part) { return sum_below(graph, part).valid(); });
    if (!sums) continue;
    ensure(found < 0, "place_all_reduce: there are two flat gradients");
    found = n;
  }
  return found;
}

}  // namespace kb
