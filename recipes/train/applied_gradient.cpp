#include "recipes/train/applied_gradient.h"

#include "graph/functions.h"
#include "optim/kept_gradient.h"
#include "recipes/train/join.h"

namespace kb {
namespace {

std::string kept_name(const std::vector<ParameterGroup>& groups, const Segment& segment) {
  const std::string& group = groups.at(static_cast<size_t>(segment.group)).name;
  const std::string prefix = groups.size() > 1 && !group.empty() ? group + "." : "";
  return prefix + kKeptGradient + "." + segment.name;
}

}  // namespace

Graph apply_graph(const Compiled& training, const std::vector<ParameterGroup>& groups, int64_t gradients) {
  Graph graph("apply", Mode::training);
  Tensor loss;
  for (const Segment& segment : training.space.segments) {
    const Tensor own = parameter(graph, segment.name, segment.role, segment.type, segment.init, segment.rate);
    const Tensor gradient = input(graph, kept_name(groups, segment), segment.type.dtype, segment.type.shape);
    const Tensor product = sum(own * gradient);
    loss = loss.valid() ? loss + product : product;
  }
  join_statistics(graph, training);
  graph.outputs.push_back(
      {"loss", (loss * (1 / static_cast<double>(gradients))).value(), Merge::sum, OutputKind::loss});
  return graph;
}

void apply_gradient(Session& apply, const StateStore& worker, int64_t number) {
  give_views(apply, worker);
  apply.set_scalar("worker", static_cast<double>(number));
  apply.work(number);
}

}  // namespace kb
