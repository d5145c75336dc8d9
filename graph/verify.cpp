#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "graph/infer.h"
#include "graph/text.h"

namespace kb {
namespace {

[[noreturn]] void broken(const Graph& graph, const std::string& what) {
  throw InternalError(fmt::format("verify: graph \"{}\": {}", graph.name, what));
}

std::string label(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  const std::string& scope = graph.scopes[static_cast<size_t>(node.scope)];
  return fmt::format("%{} ({}{}{})", index, name(node.op), scope.empty() ? "" : " in ", scope);
}

bool exists(const Graph& graph, Value v, size_t end) {
  if (v.node < 0 || static_cast<size_t>(v.node) >= end) return false;
  return v.out >= 0 && static_cast<size_t>(v.out) < graph.node(v).outputs.size();
}

void check_types(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  std::vector<Type> inputs;
  for (const Value& v : node.inputs) inputs.push_back(graph.type(v));
  std::vector<Type> expected;
  try {
    expected = infer(node.op, inputs, node.attrs);
  } catch (const Mistake& mistake) {
    broken(graph, fmt::format("{}: expected {}, got {}", label(graph, index), mistake.expected, mistake.got));
  }
  if (expected.size() != node.outputs.size())
    broken(graph,
           fmt::format("{}: expected {} outputs, got {}", label(graph, index), expected.size(), node.outputs.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == node.outputs[i]) continue;
    broken(graph, fmt::format("{}: output {} should be {}, is {}", label(graph, index), i, to_string(expected[i]),
                              to_string(node.outputs[i])));
  }
}

void check_node(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  if (node.scope < 0 || static_cast<size_t>(node.scope) >= graph.scopes.size())
    broken(graph, fmt::format("%{}: scope {} of {}", index, node.scope, graph.scopes.size()));
  if (node.frame < -1 || node.frame >= static_cast<int32_t>(graph.frames.size()))
    broken(graph, fmt::format("{}: frame {} of {}", label(graph, index), node.frame, graph.frames.size()));
  for (const Value& v : node.inputs) {
    if (!exists(graph, v, index))
      broken(graph,
             fmt::format("{}: input %{}.{} is not a value of an earlier node", label(graph, index), v.node, v.out));
  }
  check_types(graph, index);
}

// Throws unless each input and each variable has one node, and a variable's node has the variable's type.
void check_names(const Graph& graph) {
  std::set<std::string> variables, inputs, read;
  for (const Variable& variable : graph.variables) {
    if (!variables.insert(variable.name).second) broken(graph, fmt::format("two variables \"{}\"", variable.name));
    try {
      check_tensor(variable.type);
    } catch (const Mistake& mistake) {
      broken(graph, fmt::format("variable \"{}\": {}: {}", variable.name, mistake.what, mistake.got));
    }
    double covered = 0;
    for (size_t i = 0; i < variable.values.size(); i += 2) {
      const double length = variable.values[i];
      if (!(length >= 0 && length == std::floor(length)))
        broken(graph, fmt::format("variable \"{}\" has a run of {} values", variable.name, length));
      covered += length;
    }
    if (covered != (variable.init.kind == InitKind::runs ? static_cast<double>(variable.type.elements()) : 0))
      broken(graph,
             fmt::format("variable \"{}\" of {} has {} values", variable.name, to_string(variable.type), covered));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op == Op::input && !inputs.insert(node.attrs.text("name")).second)
      broken(graph, fmt::format("{}: a second input \"{}\"", label(graph, i), node.attrs.text("name")));
    if (node.op != Op::variable) continue;
    const std::string& name = node.attrs.text("name");
    const Variable* variable = graph.find_variable(name);
    if (variable == nullptr) broken(graph, fmt::format("{}: there is no variable \"{}\"", label(graph, i), name));
    if (variable->type != node.type())
      broken(graph, fmt::format("{}: variable \"{}\" is {}, its node {}", label(graph, i), name,
                                to_string(variable->type), to_string(node.type())));
    if (!read.insert(name).second) broken(graph, fmt::format("{}: a second node reads \"{}\"", label(graph, i), name));
  }
}

// Throws Error for two outputs of one name, since only the user names outputs.
[[noreturn]] void two_outputs(const Graph& graph, const Output& first, const Output& second) {
  const auto text = [&](const Output& output) {
    const std::string place = graph.place(graph.node(output.value));
    return to_string(graph.type(output.value)) + (place.empty() ? "" : " of " + place);
  };
  throw Error(
      fmt::format("outputs: two are named '{}'\n  expected: a name used once in a graph\n"
                  "  got:      {} and {}\n  hint:     give one of them another name",
                  first.name, text(first), text(second)));
}

void check_outputs(const Graph& graph) {
  std::map<std::string, const Output*> known;
  for (const Output& output : graph.outputs) {
    if (!exists(graph, output.value, graph.nodes.size()))
      broken(graph, fmt::format("output \"{}\" is %{}.{}, which is no value", output.name, output.value.node,
                                output.value.out));
    const auto [first, is_new] = known.emplace(output.name, &output);
    if (!is_new) two_outputs(graph, *first->second, output);
  }
}

void check_writes(const Graph& graph) {
  std::set<std::string> written;
  for (const StateWrite& write : graph.writes) {
    const Variable* variable = graph.find_variable(write.variable);
    if (variable == nullptr) broken(graph, fmt::format("a write of \"{}\", which is no variable", write.variable));
    if (variable->kind == VariableKind::table)
      broken(graph, fmt::format("a write of \"{}\", which is a constant table", write.variable));
    if (!written.insert(write.variable).second) broken(graph, fmt::format("two writes of \"{}\"", write.variable));
    if (!exists(graph, write.value, graph.nodes.size()))
      broken(graph, fmt::format("the write of \"{}\" is %{}.{}, which is no value", write.variable, write.value.node,
                                write.value.out));
    if (graph.type(write.value) != variable->type)
      broken(graph, fmt::format("the write of \"{}\" should be {}, is {}", write.variable, to_string(variable->type),
                                to_string(graph.type(write.value))));
  }
}

}  // namespace

void verify(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) check_node(graph, i);
  check_names(graph);
  check_outputs(graph);
  check_writes(graph);
}

}  // namespace kb
