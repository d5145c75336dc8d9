#include "recipes/train/join.h"

#include <algorithm>
#include <cstring>

#include "graph/functions.h"
#include "optim/wrapped_rules.h"
#include "recipes/config/learning.h"

namespace kb {
namespace {

constexpr const char* kOuter = "outer.";
constexpr const char* kShare = "worker_share";

}  // namespace

std::string own_name(const std::string& variable) { return "own." + variable; }

Graph join_graph(const Compiled& training, int64_t replicas) {
  Graph graph("join", Mode::training);
  Tensor loss;
  for (const Segment& segment : training.space.segments) {
    const Tensor joined = parameter(graph, segment.name, segment.role, segment.type, segment.init, segment.rate);
    const Tensor own = input(graph, own_name(segment.name), segment.type.dtype, segment.type.shape);
    const Tensor distance = joined - own;
    const Tensor squares = sum(distance * distance);
    loss = loss.valid() ? loss + squares : squares;
  }
  for (const Variable& variable : training.variables) {
    if (variable.kind != VariableKind::state) continue;
    const Tensor joined = state(graph, variable.name, variable.type, variable.init);
    write_state(joined, input(graph, own_name(variable.name), variable.type.dtype, variable.type.shape));
  }
  graph.outputs.push_back(
      {"loss", (loss * (0.5 / static_cast<double>(replicas))).value(), Merge::sum, OutputKind::loss});
  return graph;
}

CompileOptions join_options(const Compiled& training, const std::vector<ParameterGroup>& groups, const Settled& settled,
                            const Optimizer& outer) {
  const TrainConfig& config = settled.config;
  CompileOptions options;
  options.target = settled.target;
  options.precision = training.space.dtype == DType::f64 ? Precision::f64 : Precision::f32;
  options.workers = {settled.batch.processes, config.sync.replicas, settled.bucket_bytes,
                     config.arithmetic.reduce_precision, config.arithmetic.running_statistics == StatisticsOf::mean};
  options.groups = groups;
  for (size_t number = 0; number < groups.size(); ++number) {
    ParameterGroup& group = options.groups[number];
    if (!group.is_frozen) group.rule = with_prefix(update_rule(outer), kOuter);
    group.owns = [space = training.space, number](const Variable& variable) {
      return space.find(variable.name)->group == static_cast<int32_t>(number);
    };
  }
  options.space = &training.space;
  return options;
}

StepScalars outer_scalars(const Rules& own, const Synchronising& sync, const RunPlan& plan) {
  const Optimizer optimizer = find_optimizer(own.optimizers, sync.outer);
  Learning learning{.optimizer = sync.outer,
                    .lr = sync.outer_lr,
                    .scaling = "none",
                    .schedule = "constant",
                    .decay_share = 1,
                    .warmup = "none",
                    .hyper = hyper_values(optimizer, {})};
  for (NamedScalar& scalar : learning.hyper) {
    if (scalar.name == "momentum") scalar.value = sync.outer_momentum;
    if (scalar.name == "weight_decay") scalar.value = 0;
  }
  return make_scalars(own, learning, plan);
}

void run_join(Session& join, StepScalars& scalars, const std::vector<StateStore*>& replicas, int64_t round) {
  for (const NamedScalar& scalar : scalars.at(round)) join.set_scalar(kOuter + scalar.name, scalar.value);
  join.set_scalar(kShare, 1.0 / static_cast<double>(replicas.size()));
  for (size_t replica = 0; replica < replicas.size(); ++replica) {
    for (const TensorView& own : replicas[replica]->views()) {
      const std::string name = own_name(own.name);
      if (join.has_input(name)) std::memcpy(join.input(name), own.data, static_cast<size_t>(own.type.bytes()));
    }
    join.set_scalar("worker", static_cast<double>(replica));
    join.work(static_cast<int64_t>(replica));
  }
  join.wait();
}

}  // namespace kb
