// cut: takes the rewritten training or inference graph; leaves `prepare` and `final`. It stands between the graph
// passes and fusion, because the programs are fused and planned apart and share only the store.
#include "compiler/cut.h"

#include <fmt/format.h>

#include "compiler/rewrite.h"
#include "compiler/views.h"

namespace kb {
namespace {

bool is_prepared_op(const Graph& graph, const Node& node) {
  return node.op == Op::pack_weights || node.op == Op::transpose ||
         (node.op == Op::cast && is_low_precision(node.type().dtype) && graph.type(node.inputs[0]).dtype == DType::f32);
}

// By node: depends on parameters alone, over at least one parameter.
std::vector<uint8_t> parameter_only(const Graph& graph) {
  std::vector<uint8_t> result(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == Op::variable)
      result[n] = graph.find_variable(node.attrs.text("name"))->kind == VariableKind::parameter;
    if (node.inputs.empty()) continue;
    bool all = true;
    for (Value input : node.inputs) all &= result[static_cast<size_t>(input.node)] != 0;
    result[n] = all;
  }
  return result;
}

// Prepared values that something outside `prepare` reads.
std::vector<Value> prepared_values(const Graph& graph) {
  std::vector<uint8_t> only = parameter_only(graph);
  std::vector<uint8_t> inside(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) inside[n] = only[n] && is_prepared_op(graph, graph.nodes[n]);
  for (size_t n = graph.nodes.size(); n-- > 0;)
    if (inside[n])
      for (Value input : graph.nodes[n].inputs)
        inside[static_cast<size_t>(input.node)] |=
            graph.node(input).op != Op::variable && !is_view_op(graph, graph.node(input));
  std::vector<uint8_t> taken(graph.nodes.size(), 0);
  std::vector<Value> result;
  auto take = [&](Value v) {
    if (!is_prepared_op(graph, graph.node(v)) || !only[static_cast<size_t>(v.node)] ||
        taken[static_cast<size_t>(v.node)]++)
      return;
    result.push_back(v);
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (!inside[n])
      for (Value input : graph.nodes[n].inputs) take(input);
  for (const Output& output : graph.outputs) take(output.value);
  return result;
}

Variable prepared_variable(const Graph& graph, Value value, size_t number, const Target& target) {
  Variable variable;
  variable.name = fmt::format("prepared.{}.{}", graph.name, number);
  variable.type = graph.type(value);
  variable.kind = VariableKind::prepared;
  const Node& node = graph.node(value);
  if (node.op == Op::pack_weights && target.library) variable.bytes = target.library->packed_bytes(graph, node);
  return variable;
}

}  // namespace

Cut cut(const Graph& graph, const Target& target) {
  std::vector<Value> values = prepared_values(graph);
  Graph prepare("prepare", graph.mode);
  Rewriter first(graph, prepare);
  Graph final(graph.name, graph.mode);
  Rewriter rest(graph, final);
  for (size_t i = 0; i < values.size(); ++i) {
    Variable variable = prepared_variable(graph, values[i], i, target);
    first.copy_upto(values[i]);
    prepare.add_variable(variable);
    prepare.writes.push_back({variable.name, first.map(values[i])});
    rest.replace(values[i], final.add_variable(variable));
  }
  rest.copy_needed();
  rest.finish();
  return {std::move(prepare), std::move(final)};
}

}  // namespace kb
