#include "compiler/schedule/step_phases.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "compiler/passes/parameter_space.h"

namespace kb {
namespace {

using Marks = std::vector<uint8_t>;  // one flag per node

// Returns the node that concatenates the gradients of all parameters; in PartRole::micro, which only leaves its sum of
// the gradient in a variable, the node of that sum. -1 means that there is none.
int32_t flat_gradient_node(const Graph& graph, PartRole role) {
  const Variable* parameters = flat_parameters(graph);
  for (size_t n = 0; parameters && n < graph.nodes.size(); ++n)
    if (graph.nodes[n].op == Op::concat && graph.nodes[n].type().shape == parameters->type.shape)
      return static_cast<int32_t>(n);
  if (role != PartRole::micro) return -1;
  for (const StateWrite& write : graph.writes)
    if (graph.find_variable(write.variable)->sum == SumGroup::gradient) return write.value.node;
  return -1;
}

bool always(const Node&) { return true; }

// Marks every node that a marked node depends on, too, by nodes for which `passes` is true.
void mark_below(const Graph& graph, Marks& marks, bool (*passes)(const Node&) = always) {
  for (int32_t n = graph.size(); n-- > 0;)
    if (marks[static_cast<size_t>(n)] && passes(graph.node(n)))
      for (const Value input : graph.node(n).inputs) marks[static_cast<size_t>(input.node)] = 1;
}

// Marks every node that depends on a node for which `first` is true.
template <class First>
Marks above(const Graph& graph, First&& first) {
  Marks marks(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (const Value input : graph.nodes[n].inputs)
      if (marks[static_cast<size_t>(input.node)] || first(input.node)) marks[n] = 1;
  return marks;
}

bool adds_over_workers(const Node& node) { return node.op == Op::all_reduce || node.op == Op::carry; }

// Marks the nodes that the outputs and the running statistics need, and the masks that forward packs for backward.
// Values in `updated` and the gradient do not count as such results.
Marks needed_by_results(const Graph& graph, const Marks& updated, int32_t gradient) {
  Marks marks(graph.nodes.size(), 0);
  const auto mark = [&](Value value) {
    if (!updated[static_cast<size_t>(value.node)] && value.node != gradient) marks[static_cast<size_t>(value.node)] = 1;
  };
  for (const Output& output : graph.outputs)
    if (output.kind != OutputKind::layer) mark(output.value);
  for (const StateWrite& write : graph.writes) mark(write.value);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (graph.nodes[n].op == Op::pack_bits) marks[n] = 1;
  mark_below(graph, marks);
  return marks;
}

// Marks the flat gradient and the nodes it is made of, as long as their values are only cast, summed over workers or
// moved on the way to it.
Marks parts_of_gradient(const Graph& graph, int32_t gradient) {
  Marks marks(graph.nodes.size(), 0);
  if (gradient < 0) return marks;
  marks[static_cast<size_t>(gradient)] = 1;
  mark_below(graph, marks, [](const Node& node) {
    const OpClass cls = info(node.op).cls;
    return cls == OpClass::movement || cls == OpClass::marker || node.op == Op::cast || node.op == Op::carry;
  });
  return marks;
}

std::vector<int32_t> same_values(const Graph& graph) {
  using Inputs = std::vector<std::pair<int32_t, int32_t>>;  // the node that has an input's value, and its output
  std::map<std::tuple<Op, int32_t, int32_t, Inputs>, std::vector<int32_t>> candidates;
  std::vector<int32_t> same(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    same[n] = static_cast<int32_t>(n);
    if (info(node.op).cls == OpClass::leaf) continue;
    Inputs inputs;
    for (const Value input : node.inputs) inputs.emplace_back(same[static_cast<size_t>(input.node)], input.out);
    std::vector<int32_t>& alike = candidates[{node.op, node.scope, node.frame, std::move(inputs)}];
    const auto found = std::find_if(alike.begin(), alike.end(), [&](int32_t earlier) {
      return graph.node(earlier).attrs == node.attrs && graph.node(earlier).outputs == node.outputs;
    });
    if (found != alike.end())
      same[n] = *found;
    else
      alike.push_back(same[n]);
  }
  return same;
}

}  // namespace

NodePhases node_phases(const Graph& graph, PartRole role) {
  const int32_t gradient = flat_gradient_node(graph, role);
  const size_t count = graph.nodes.size();
  NodePhases phases{std::vector(count, NodePhases::forward), same_values(graph), parts_of_gradient(graph, gradient)};
  if (gradient < 0) return phases;
  const Marks updated = above(graph, [&](int32_t n) { return n == gradient; });
  const Marks summed = above(graph, [&](int32_t n) { return adds_over_workers(graph.node(n)); });
  const Marks results = needed_by_results(graph, updated, gradient);
  Marks below(count, 0);
  below[static_cast<size_t>(gradient)] = 1;
  mark_below(graph, below);
  for (size_t n = 0; n < count; ++n) {
    if (updated[n] || summed[n])
      phases.part[n] = NodePhases::update;
    else if (!results[n])
      phases.part[n] = below[n] ? NodePhases::backward : NodePhases::update;
  }
  return phases;
}

}  // namespace kb
