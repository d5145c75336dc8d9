#include "recipes/train/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/functions.h"
#include "optim/wrapped_rules.h"
#include "recipes/config/learning.h"
#include "recipes/train/run_schedule.h"

namespace kb {
namespace {

constexpr const char* kOuter = "outer.";
constexpr const char* kShare = "worker_share";
constexpr const char* kOwnRate = "own_rate";

}  // namespace

std::string own_name(const std::string& variable) { return "own." + variable; }

void join_statistics(Graph& graph, const Compiled& training) {
  for (const Variable& variable : training.variables) {
    if (variable.kind != VariableKind::state) continue;
    const Tensor joined = state(graph, variable.name, variable.type, variable.init);
    write_state(joined, input(graph, own_name(variable.name), variable.type.dtype, variable.type.shape));
  }
}

Graph join_graph(const Compiled& training, int64_t replicas, bool per_rate) {
  Graph graph("join", Mode::training);
  Tensor loss;
  for (const Segment& segment : training.space.segments) {
    const Tensor joined = parameter(graph, segment.name, segment.role, segment.type, segment.init, segment.rate);
    const Tensor own = input(graph, own_name(segment.name), segment.type.dtype, segment.type.shape);
    const Tensor distance = joined - own;
    const Tensor squares = sum(distance * distance);
    loss = loss.valid() ? loss + squares : squares;
  }
  join_statistics(graph, training);
  loss = loss * (0.5 / static_cast<double>(replicas));
  if (per_rate) loss = loss / scalar_input(graph, kOwnRate, training.space.dtype);
  graph.outputs.push_back({"loss", loss.value(), Merge::sum, OutputKind::loss});
  return graph;
}

CompileOptions options_over(const Compiled& training, const std::vector<ParameterGroup>& groups, const Settled& settled,
                            int64_t workers) {
  const Arithmetic& arithmetic = settled.config.arithmetic;
  CompileOptions options;
  options.target = settled.target;
  options.precision = training.space.dtype == DType::f64 ? Precision::f64 : Precision::f32;
  options.workers = {settled.batch.processes, workers, settled.bucket_bytes, arithmetic.reduce_precision,
                     arithmetic.running_statistics == StatisticsOf::mean};
  options.groups = groups;
  for (size_t number = 0; number < groups.size(); ++number)
    if (groups[number].owns)
      options.groups[number].owns = [space = training.space, number](const Variable& variable) {
        return space.find(variable.name)->group == static_cast<int32_t>(number);
      };
  options.space = &training.space;
  return options;
}

namespace {

double ema_of(const TrainConfig& config, const std::string& group) {
  const auto at = std::ranges::find(config.group_learning, group, &GroupLearning::group);
  return at == config.group_learning.end() ? config.learning.ema : at->learning.ema;
}

void check_matrices(const Optimizer& outer, const Compiled& training) {
  for (const Segment& segment : training.space.segments)
    if (outer.takes_matrices && segment.type.rank() < 2)
      throw Error(fmt::format(
          "sync.outer = {}: it takes matrices, and the parameter \"{}\" is none\n  expected: a rule for all "
          "parameters that learn\n  got:      {}\n  hint:     sync.outer = nesterov",
          outer.name, segment.name, shape_text(segment.type)));
}

}  // namespace

CompileOptions join_options(const Compiled& training, const std::vector<ParameterGroup>& groups, const Settled& settled,
                            const Optimizer& outer) {
  check_matrices(outer, training);
  const ParameterCopies copies = settled.plan.copies();
  CompileOptions options = options_over(training, groups, settled, copies.own);
  options.workers.processes = copies.all / copies.own;
  for (ParameterGroup& group : options.groups) {
    if (group.is_frozen) continue;
    group.rule = with_prefix(update_rule(outer), kOuter);
    if (ema_of(settled.config, group.name) > 0) group.rule = with_averaged_parameters(std::move(group.rule));
  }
  return options;
}

void give_views(Session& session, const StateStore& store) {
  for (const TensorView& view : store.views())
    for (const std::string& name : {view.name, own_name(view.name)})
      if (session.has_input(name)) std::memcpy(session.input(name), view.data, static_cast<size_t>(view.type.bytes()));
}

namespace {

StepScalars outer_scalars(const Rules& own, const Synchronising& sync, const RunPlan& plan) {
  const Optimizer optimizer = find_optimizer(own.optimizers, sync.outer);
  if (optimizer.schedule_free)
    throw Error(
        fmt::format("sync.outer = {}: expected a rule whose gradient is that at the joined parameters, where replicas "
                    "begin, got one that takes it beside them\n  hint:     sync.outer = nesterov",
                    sync.outer));
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

}  // namespace

JoinScalars::JoinScalars(const Rules& own, const TrainConfig& config, const std::vector<std::string>& groups,
                         const RunPlan& plan)
    : outer_(outer_scalars(own, config.sync, plan)) {
  const std::vector<GroupLearning> rows = learning_of_groups(config, groups);
  for (const auto& [name, learning] : rows) groups_.push_back({scalar_prefix(name, rows.size()), learning.ema});
}

void JoinScalars::set(Session& join, const JoinPlace& place) {
  const auto factor = [&](const std::string& scalar) {
    if (!join.has_input(kOwnRate) || !scalar.ends_with("learning_rate")) return 1.0;
    return scalar.starts_with("previous") ? place.rate_before : place.rate;
  };
  for (const auto& [prefix, ema] : groups_) {
    for (const NamedScalar& scalar : outer_.at(place.round))
      join.set_scalar(prefix + kOuter + scalar.name, factor(scalar.name) * scalar.value);
    join.set_scalar(prefix + kEmaDecay, std::pow(ema, static_cast<double>(place.steps)));
  }
  join.set_scalar(kOwnRate, place.rate);
  join.set_scalar(kShare, 1.0 / static_cast<double>(place.replicas));
}

void run_join(Session& join, JoinScalars& scalars, std::span<StateStore* const> own, const JoinPlace& place) {
  scalars.set(join, place);
  for (size_t replica = 0; replica < own.size(); ++replica) {
    give_views(join, *own[replica]);
    join.set_scalar("worker", static_cast<double>(place.first) + static_cast<double>(replica));
    join.work(static_cast<int64_t>(replica));
  }
  join.wait();
}

}  // namespace kb
