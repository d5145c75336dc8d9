#include "compiler/passes/gradient_norms.h"

#include "compiler/passes/loss_scale.h"
#include "graph/functions.h"

namespace kb {

Tensor squared_norm(const Tensor& vector) {
  const Tensor wide = is_low_precision(vector.dtype()) ? cast(vector, DType::f32) : vector;
  return sum(wide * wide, {0});
}

void add_norm_outputs(Tensor workers, const Tensor& gradient, const Tensor& divisor) {
  Graph& graph = workers.graph();
  Tensor mean = squared_norm(gradient);
  if (has_loss_scale(graph)) {
    const Tensor scale = Tensor(graph, graph.read(kLossScale));
    workers = workers / scale / scale;
    mean = mean / scale / scale;
  }
  if (divisor.valid()) {
    workers = workers / divisor / divisor;
    mean = mean / divisor / divisor;
  }
  graph.outputs.push_back({kWorkersNorm, workers.value(), Merge::first});
  graph.outputs.push_back({kMeanNorm, mean.value(), Merge::first});
}

}  // namespace kb
