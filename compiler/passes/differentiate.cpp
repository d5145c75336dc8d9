// differentiate: takes a training graph with the scalar output "loss"; leaves one whose output "loss" is summed over
// the workers and that has for every parameter the output "grad.NAME", its gradient summed over the workers. A graph
// for inference passes as it is. It stands first: every later pass sees the whole step. In f16 the gradients are of the
// loss times a scale (loss_scale.h).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/passes/loss_scale.h"
#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/scope.h"

namespace kb {
namespace {

Tensor sum_over_workers(const Tensor& x, const Tensor& like) {
  const Node& node = x.graph().node(like.value());
  const Origin origin(x.graph(), node.scope, node.frame);
  return worker_sum(x);
}

}  // namespace

Graph differentiate(Graph graph, CompileState& state) {
  if (!state.options.optimizer) return graph;
  const auto is_loss = [](const Output& output) { return output.name == "loss"; };
  const auto loss_at = std::find_if(graph.outputs.begin(), graph.outputs.end(), is_loss);
  if (loss_at == graph.outputs.end()) {
    throw Error(
        fmt::format("graph \"{}\": expected an output \"loss\" to train on, got none of that name", graph.name));
  }
  const size_t loss_index = static_cast<size_t>(loss_at - graph.outputs.begin());
  const Tensor loss(graph, loss_at->value);
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables) {
    if (variable.kind == VariableKind::parameter) names.push_back(variable.name);
  }
  for (const std::string& name : names) parameters.emplace_back(graph, graph.read(name));
  const bool scales = state.options.precision == Precision::f16;
  const std::vector<Tensor> found = gradients(scales ? scaled_loss(loss) : loss, parameters);
  for (size_t i = 0; i < found.size(); ++i) {
    const Tensor total = sum_over_workers(found[i], parameters[i]);
    graph.outputs.push_back({"grad." + names[i], total.value(), Merge::sum, OutputKind::gradient, names[i]});
  }
  graph.outputs[loss_index].kind = OutputKind::loss;
  graph.outputs[loss_index].value = sum_over_workers(loss, loss).value();
  return graph;
}

}  // namespace kb
