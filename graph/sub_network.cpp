#include "graph/sub_network.h"

#include <utility>

#include "graph/building.h"

namespace kb {
namespace {

using Replacement = std::vector<std::pair<Tensor, Tensor>>;  // a parameter, and what stands in its place

std::vector<Replacement>& replacements() {
  thread_local std::vector<Replacement> open;
  return open;
}

// The parameter that a tensor is read from; null where it is none.
const Variable* parameter_of(Tensor tensor) {
  const Node& node = tensor.graph().node(tensor.value());
  if (node.op != Op::variable) return nullptr;
  const Variable* variable = tensor.graph().find_variable(node.attrs.text("name"));
  return variable != nullptr && variable->kind == VariableKind::parameter ? variable : nullptr;
}

// Returns the parameter's variable. Throws Error in the name of `op` where the tensor is none.
const Variable& checked_parameter(std::string_view op, Tensor tensor) {
  const Variable* variable = parameter_of(tensor);
  if (variable == nullptr)
    report(op, {"a tensor is no parameter", "what parameters_under(graph, scope) or parameter(...) gave",
                "the result of " + std::string(name(tensor.graph().node(tensor.value()).op)), ""});
  return *variable;
}

}  // namespace

std::vector<Tensor> parameters_under(Graph& graph, const std::string& scope, Where where) {
  const Call call(where);
  std::vector<std::string> names;  // read() may move the variables
  for (const Variable& variable : graph.variables)
    if (variable.kind == VariableKind::parameter && (scope.empty() || variable.name.starts_with(scope + ".")))
      names.push_back(variable.name);
  if (names.empty())
    report("parameters_under",
           {"no parameter was made under the scope '" + scope + "'", "a scope with its path, \"net.head\"",
            "graph '" + graph.name + "' of " + std::to_string(graph.variables.size()) + " variables",
            "call the sub-network under this Scope first"});
  std::vector<Tensor> result;
  for (const std::string& name : names) result.emplace_back(graph, graph.read(name));
  return result;
}

Replaced::Replaced(const std::vector<Tensor>& from, const std::vector<Tensor>& to, Where where) {
  const Call call(where);
  if (from.size() != to.size())
    report("Replaced", {"a replacement for each parameter is needed", std::to_string(from.size()) + " tensors",
                        std::to_string(to.size()), ""});
  Replacement pairs;
  for (size_t i = 0; i < from.size(); ++i) {
    require_same_graph("Replaced", {from[i], to[i]});
    const Variable& variable = checked_parameter("Replaced", from[i]);
    if (to[i].dtype() != variable.type.dtype || to[i].shape() != variable.type.shape)
      report("Replaced",
             {"the value does not fit '" + variable.name + "'", to_string(variable.type), to_string(to[i].type()), ""});
    pairs.emplace_back(from[i], to[i]);
  }
  replacements().push_back(std::move(pairs));
}

Replaced::~Replaced() { replacements().pop_back(); }

bool replaces_parameters() { return !replacements().empty(); }

Tensor in_place_of(Tensor parameter) {
  const std::vector<Replacement>& open = replacements();
  for (auto inner = open.rbegin(); inner != open.rend(); ++inner)
    for (const auto& [from, to] : *inner)
      if (&from.graph() == &parameter.graph() && from.value() == parameter.value()) return to;
  return parameter;
}

std::vector<Tensor> moving_averages(const std::string& name, const std::vector<Tensor>& parameters, double decay,
                                    Where where) {
  const Call call(where);
  const Scope scope(name);
  if (!(decay >= 0 && decay <= 1))
    report("moving_averages", {"the decay is out of range", "0 <= decay <= 1", number_text(decay),
                               "it is the average's share in its next value"});
  std::vector<Tensor> result;
  if (parameters.empty()) return result;
  Graph& graph = parameters.front().graph();
  Tensor count = state(graph, "n_averaged", {parameters.front().dtype(), {}, ""}, {InitKind::constant, 0});
  for (Tensor parameter : parameters) {
    const Variable& variable = checked_parameter("moving_averages", parameter);
    const Type type = variable.type;
    Tensor average = state(graph, std::string(variable.name), type, {InitKind::constant, 0});
    Tensor now = stop_gradient(parameter);
    if (graph.mode == Mode::training) {
      now = select(count > 0.0, decay * average + (1 - decay) * now, now);
      write_state(average, now);
    } else {
      now = select(count > 0.0, average, now);
    }
    result.push_back(now);
  }
  if (graph.mode == Mode::training) write_state(count, count + 1.0);
  return result;
}

}  // namespace kb
