#include "graph/building.h"

namespace kb {

Tensor make(Op op, const std::vector<Tensor>& inputs, Attrs attrs) {
  require_same_graph(name(op), inputs);
  std::vector<Value> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(input.value());
  Graph& graph = inputs.front().graph();
  return {graph, graph.add(op, std::move(values), std::move(attrs))};
}

Tensor output(Tensor first, int32_t out) { return {first.graph(), {first.value().node, out}}; }

Tensor widened(Tensor x) { return cast(x, arithmetic_dtype(x.dtype())); }

void require_same_graph(std::string_view op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) report(op, {"no operands", "at least one tensor", "none", ""});
  for (const Tensor& tensor : tensors) {
    require_valid(op, tensor);
    if (&tensor.graph() != &tensors.front().graph())
      report(op, {"operands of different graphs", "tensors of one graph",
                  "graphs '" + tensors.front().graph().name + "' and '" + tensor.graph().name + "'",
                  "build the model anew on each graph"});
  }
}

}  // namespace kb
