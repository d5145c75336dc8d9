#include "compiler/passes/extents.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kb {
namespace {

// Returns the first number that no extent of an earlier call has.
int64_t first_free_number(const Graph& graph) {
  int64_t number = 0;
  for (const Node& node : graph.nodes)
    if (node.op == Op::extent) number = std::max(number, node.attrs.integer("number") + 1);
  return number;
}

}  // namespace

void counts_to_extents(Graph& graph) {
  const int64_t first = first_free_number(graph);
  std::map<std::pair<Value, Ints>, int64_t> numbers;
  for (Node& node : graph.nodes) {
    if (node.op != Op::count) continue;
    const Value counted = node.inputs[0];
    const Ints& axes = node.attrs.ints("axes");
    const int64_t next = first + static_cast<int64_t>(numbers.size());
    const int64_t number = numbers.try_emplace({counted, axes}, next).first->second;
    Ints extents;
    for (const int64_t axis : axes) extents.push_back(graph.type(counted).shape[static_cast<size_t>(axis)]);
    node.op = Op::extent;
    node.inputs.clear();
    node.attrs = {{"dtype", node.type().dtype}, {"extents", std::move(extents)}, {"number", number}};
  }
}

}  // namespace kb
