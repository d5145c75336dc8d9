#include "compiler/passes/stored_values.h"

#include <algorithm>
#include <limits>

#include "compiler/fuse/domain.h"
#include "compiler/fuse/materialise.h"
#include "compiler/kernel/math.h"

namespace kb {
namespace {

bool is_call(const Node& node) {
  const OpClass cls = info(node.op).cls;
  return cls == OpClass::library || cls == OpClass::window;
}

// Returns whether the op's result exists after its launch alone. A row's sum does not: the launch goes on with it.
bool ends_launch(const Graph& graph, const Node& node) {
  const auto reduces_rows = [&] { return row_elements(graph.type(node.inputs[0]).shape, reduced_axes(node)) > 0; };
  return is_call(node) || is_scatter(node.op) || (info(node.op).cls == OpClass::reduction && !reduces_rows());
}

// Returns the stage of each node: the most ops that end a launch on a way to it.
std::vector<int32_t> stages(const Graph& graph) {
  std::vector<int32_t> stage(graph.nodes.size(), 0);
  for (size_t n = 0; n < stage.size(); ++n)
    for (const Value input : graph.nodes[n].inputs) {
      const int32_t after = stage[static_cast<size_t>(input.node)] + ends_launch(graph, graph.node(input));
      stage[n] = std::max(stage[n], after);
    }
  return stage;
}

// Returns whether the node depends on one large value and calls no function. Such a value is never written to memory
// (compiler/fuse/materialise.h, rule 3); x less its mean in a batch norm is one.
bool is_computed_again(const Graph& graph, const Node& node) {
  const auto is_large = [&](Value input) {
    const Op op = graph.node(input).op;
    return op != Op::broadcast && op != Op::constant;
  };
  return !calls_math(node.op) && std::count_if(node.inputs.begin(), node.inputs.end(), is_large) <= 1;
}

// How a value is read: whether by a library or window op, by how many nodes, and the stages of the first and the last
// launch that needs it.
struct Reading {
  bool by_call = false;
  int32_t readers = 0;
  int32_t first = std::numeric_limits<int32_t>::max(), last = -1;

  void add(const Reading& other) {
    by_call |= other.by_call;
    readers += other.readers;
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

}  // namespace

std::vector<uint8_t> stored_values(const Graph& graph) {
  const std::vector<int32_t> stage = stages(graph);
  std::vector<Reading> readings(graph.nodes.size());
  std::vector<uint8_t> stored(graph.nodes.size(), 0);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const Reading& own = readings[n];
    const bool is_apart = own.readers > 1 && own.first < own.last;
    stored[n] = is_pointwise(node.op) && (own.by_call || (is_apart && !is_computed_again(graph, node)));
    // Readers compute what is not stored: the launches that need it need its inputs. A reshape is a view.
    Reading reading{is_call(node), 1, stage[n], stage[n]};
    const bool moves = info(node.op).cls == OpClass::movement;
    if ((is_pointwise(node.op) || moves) && !stored[n] && own.readers > 0) reading = {false, 1, own.first, own.last};
    if (node.op == Op::reshape) reading = own;
    for (const Value input : node.inputs) readings[static_cast<size_t>(input.node)].add(reading);
  }
  return stored;
}

}  // namespace kb
