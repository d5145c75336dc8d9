#include "compiler/passes/loss_scale.h"

#include "graph/functions.h"

namespace kb {
namespace {

// The values of PyTorch's GradScaler, except for the greatest scale, above which no f16 gradient gains from doubling.
constexpr double kFirst = 65536, kGrowth = 2, kBackoff = 0.5, kGreatest = 0x1p24;

Tensor declare(Graph& graph, const char* name, double initial) {
  Variable variable;
  variable.name = name;
  variable.type = {DType::f32, {}, ""};
  variable.kind = VariableKind::slot;
  variable.init = {InitKind::constant, initial, 0};
  return Tensor(graph, graph.add_variable(variable));
}

Tensor read(Graph& graph, const char* name) { return Tensor(graph, graph.read(name)); }

}  // namespace

bool has_loss_scale(const Graph& graph) { return graph.find_variable(kLossScale) != nullptr; }

Tensor scaled_loss(const Tensor& loss) {
  Graph& graph = loss.graph();
  return loss * (has_loss_scale(graph) ? read(graph, kLossScale) : declare(graph, kLossScale, kFirst));
}

Unscaled unscaled(const Tensor& gradient) {
  // 0 times a finite number is 0; 0 times an infinity or a NaN is NaN.
  const Tensor finite = eq(sum(gradient * 0.0), 0.0);
  return {gradient * (1.0 / read(gradient.graph(), kLossScale)), finite};
}

void update_loss_scale(const Tensor& finite, const Tensor& interval) {
  Graph& graph = finite.graph();
  const Tensor scale = read(graph, kLossScale), steps = declare(graph, kLossScaleSteps, 0) + 1.0;
  const Tensor grows = steps >= interval;
  const Tensor next = select(finite, select(grows, minimum(scale * kGrowth, kGreatest), scale), scale * kBackoff);
  graph.add_write(kLossScale, next.value());
  graph.add_write(kLossScaleSteps, select(bit_and(finite, logical_not(grows)), steps, 0.0).value());
  graph.outputs.push_back({kLossScale, next.value(), Merge::first});
}

}  // namespace kb
