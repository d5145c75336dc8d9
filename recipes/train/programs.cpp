#include "recipes/train/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/text.h"
#include "optim/kept_gradient.h"
#include "optim/wrapped_rules.h"
#include "recipes/config/learning.h"
#include "recipes/config/parameter_division.h"
#include "recipes/config/plan.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/train/declared_names.h"
#include "recipes/train/join.h"
#include "recipes/train/worker_gradient.h"

namespace kb {
namespace {

// Compiles a graph whose fields are gathered from tables of `rows` rows; 0 rows: no tables. The graph's hash stays that
// of the declared graph, so that it does not depend on the residency.
Compiled compile_with_tables(Graph graph, const Task& task, int64_t rows, const CompileOptions& options) {
  if (rows == 0) return compile(std::move(graph), options);
  Compiled compiled = compile(with_tables(graph, task.fields_in_memory(), rows), options);
  compiled.graph_hash = content_hash(graph);
  return compiled;
}

BatchShape shape_of(const Settled& settled, size_t phase, size_t bucket) {
  const auto& [length, per_worker] = settled.buckets.at(bucket);
  return {per_worker, length, settled.plan.phase(phase).pieces};
}

TrainingGraph training_graph(const Task& task, const Settled& settled, size_t phase, size_t bucket) {
  const TrainConfig& config = settled.config;
  TrainingGraph training = declare_training(task, shape_of(settled, phase, bucket),
                                            graph_dtype(config.arithmetic.precision), config.judging.train_metrics);
  if (config.learning.label_smoothing > 0 && !training.graph.find_input(kLabelSmoothing).valid())
    throw Error(
        fmt::format("learning.label_smoothing = {}: expected a task whose loss reads it, got {}\n"
                    "  hint:     cross_entropy(logits, labels, in.scalar(\"{}\"))",
                    config.learning.label_smoothing, task.name, kLabelSmoothing));
  return training;
}

// Throws Error for batch norm beside a schedule-free optimizer without judging.recompute_bn. Such an optimizer takes
// gradients at another point than the parameters that are evaluated, so that running statistics gathered in training do
// not belong to the evaluated parameters.
void check_statistics(const Task& task, const TrainConfig& config, const TrainingGraph& training) {
  if (config.judging.recompute_bn > 0 || training.graph.writes.empty()) return;
  for (const auto& [group, learning] : learning_of_groups(config, groups_of(training.objectives)))
    if (!is_frozen(learning) && find_optimizer(task.optimizers, learning.optimizer).schedule_free)
      throw Error(
          fmt::format("judging.recompute_bn: expected a number above 0 beside learning.optimizer = {} and batch norm, "
                      "got 0: training "
                      "gathers running statistics at another point than the one that is evaluated\n  hint: "
                      "judging.recompute_bn = 20",
                      learning.optimizer));
}

// A group of a division whose clip_norm is not that of the rest is clipped by its own norm.
UpdateRule rule_of(const Task& task, const Learning& learning, const Learning& all) {
  if (is_frozen(learning)) return {};
  UpdateRule rule = update_rule(find_optimizer(task.optimizers, learning.optimizer));
  const auto norm = learning.clip_norm == all.clip_norm ? ClippedNorm::of_losses : ClippedNorm::of_group;
  if (learning.clip_norm > 0) rule = with_clipped_gradient(std::move(rule), norm);
  return learning.ema > 0 ? with_averaged_parameters(std::move(rule)) : rule;
}

std::vector<ParameterGroup> parameter_groups(const Task& task, const TrainingGraph& training,
                                             const TrainConfig& config) {
  const std::vector<std::string> named = groups_of(training.objectives);
  const std::vector<GroupLearning> rows = learning_of_groups(config, named);
  if (may_divide(named)) check_division(training.graph, rows, rules_of(task));
  check_common_point(config, rows, rules_of(task));
  std::vector<ParameterGroup> groups;
  for (const auto& [group, learning] : rows)
    groups.push_back({.name = group,
                      .rule = rule_of(task, learning, config.learning),
                      .no_decay = learning.no_decay,
                      .no_adapt = learning.no_adapt,
                      .owns = group.empty()       ? nullptr
                              : may_divide(named) ? owner_of_group(group)
                                                  : owns_scope(group),
                      .is_frozen = is_frozen(learning)});
  return groups;
}

}  // namespace

CompileOptions training_options(const Task& task, const TrainingGraph& training, const Settled& settled,
                                const BatchPlan& batch) {
  const TrainConfig& config = settled.config;
  CompileOptions options;
  options.target = settled.target;
  options.precision = config.arithmetic.precision;
  options.workers = {batch.processes,
                     batch.virtual_workers,
                     settled.bucket_bytes,
                     config.arithmetic.reduce_precision,
                     config.arithmetic.running_statistics == StatisticsOf::mean,
                     reads_gradient_norms(config)};
  options.objectives = training.objectives;
  options.groups = parameter_groups(task, training, config);
  options.log_layers = config.judging.log_layers.has_value();
  return options;
}

Compiled compile_training(const Task& task, const Settled& settled) {
  TrainingGraph training = training_graph(task, settled, 0, 0);
  const CompileOptions options = training_options(task, training, settled, settled.batch_of(0));
  return compile_with_tables(std::move(training.graph), task, settled.residency.train, options);
}

CheckProgram compile_check(const Task& task, const Settled& settled, size_t phase, size_t bucket,
                           const ParameterSpace& space) {
  TrainingGraph step = training_graph(task, settled, phase, bucket);
  const CompileOptions training = training_options(task, step, settled, settled.batch);
  CompileState state{training, {}, {}};
  CheckProgram check{{}, find_probes(differentiate(std::move(step.graph), state))};
  CompileOptions options;
  options.target = settled.target;
  options.precision = training.precision;
  options.space = &space;
  options.offset = gradient_offset(training.groups[0].rule);
  check.compiled = compile(with_probes(check.probes), options);
  return check;
}

namespace {

// Compiles training steps anew if all programs together take too much memory, each for the memory that the other
// programs leave. A step that computes activations again already is left as it is.
void make_room(Programs& programs, const Task& task, const Settled& settled, const std::vector<ProgramSpec>& specs) {
  const auto most = static_cast<int64_t>(kFitShare * static_cast<double>(settled.target.memory_bytes));
  for (size_t i = 0; i < specs.size(); ++i) {
    Compiled& step = programs.list[i].compiled;
    const int64_t total = total_memory(programs, settled.plan.copies(), settled.target.processor);
    const bool is_step = specs[i].use == Use::update || specs[i].use == Use::replica;
    if (!is_step || settled.target.memory_bytes == 0 || total <= most || !step.recomputed.empty()) continue;
    const int64_t others = total - memory_answer(step).total();
    CompileOptions less = specs[i].options;
    less.target.memory_bytes =
        std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(most - others) / kFitShare));
    std::erase_if(programs.dumps, [&](const DumpFile& file) { return file.is_pass && file.program == specs[i].name; });
    step = compile_with_tables(specs[i].graph, task, specs[i].rows, less);
  }
}

// Returns the name of a program: `word`, with the phase and with the bucket's length where there are several of them.
std::string program_name(const std::string& word, const Settled& settled, size_t phase, size_t bucket) {
  const std::string of_phase = phase == 0 ? word : fmt::format("{}-{}", word, phase);
  return settled.buckets.size() == 1 ? of_phase : fmt::format("{}.{}", of_phase, settled.buckets[bucket].length);
}

ProgramSpec update_of(const Task& task, const Settled& settled, size_t phase, size_t bucket,
                      const TrainingGraph& training) {
  return {.name = program_name("train", settled, phase, bucket),
          .use = Use::update,
          .phase = phase,
          .bucket = bucket,
          .graph = training.graph,
          .options = training_options(task, training, settled, settled.batch_of(phase, bucket)),
          .rows = settled.residency.train};
}

// Returns the program by which a worker of its own parameters computes a gradient.
ProgramSpec gradient_of(const Task& task, const Settled& settled, size_t bucket, const TrainingGraph& training) {
  ProgramSpec spec = update_of(task, settled, 0, bucket, training);
  spec.name = program_name("gradient", settled, 0, bucket);
  spec.use = Use::replica;
  spec.options.workers.virtual_workers = 1;
  spec.options.workers.of_replica = true;
  for (ParameterGroup& group : spec.options.groups)
    if (!group.is_frozen) group.rule = kept_gradient_rule(settled.config.sync.momentum_at == MomentumAt::worker);
  return spec;
}

Settled without_averages(Settled settled) {
  settled.config.learning.ema = 0;
  for (GroupLearning& row : settled.config.group_learning) row.learning.ema = 0;
  return settled;
}

// Returns the training step of a replica, which has its share of the workers. Averages are of the joined parameters.
ProgramSpec replica_of(const Task& task, const Settled& settled, size_t bucket, const TrainingGraph& training) {
  ProgramSpec spec = update_of(task, without_averages(settled), 0, bucket, training);
  spec.name = program_name("replica", settled, 0, bucket);
  spec.use = Use::replica;
  spec.options.workers.processes = settled.plan.copies().processes;
  spec.options.workers.virtual_workers /= settled.plan.copies().own;
  spec.options.workers.of_replica = settled.plan.rounds.replicas > 1;
  return spec;
}

// Adds the programs of a phase and bucket that evaluate.
void add_evaluations(std::vector<ProgramSpec>& specs, const Settled& settled, size_t phase, size_t bucket,
                     const Graph& graph) {
  CompileOptions options;
  options.target = settled.target;
  options.precision = settled.config.arithmetic.precision;
  specs.push_back({program_name("predict", settled, phase, bucket), Use::evaluate, phase, bucket, graph, options,
                   settled.residency.test});
  if (!settled.config.judging.eval_ema) return;
  options.offset = kEmaOffset;
  specs.push_back({program_name("averaged", settled, phase, bucket), Use::evaluate_averages, phase, bucket, graph,
                   options, settled.residency.test});
}

// Returns the graph of an evaluation, which must have the parameters of the training.
Graph checked_inference(const Graph& training, const Task& task, BatchShape shape, DType real) {
  Graph graph = build_inference_graph(task, shape, real);
  check_same_parameters(training, graph);
  return graph;
}

ProgramSpec estimate_of(const Task& task, const Settled& settled, DType real) {
  CompileOptions options;
  options.target = settled.target;
  options.precision = settled.config.arithmetic.precision;
  return {"statistics", Use::estimate, 0, 0, build_statistics_graph(task, shape_of(settled, 0, 0), real), options, 0};
}

void add_join(Programs& programs, const Task& task, const Settled& settled, const std::vector<ParameterGroup>& groups) {
  const Compiled& training = programs.update();
  const Optimizer outer = find_optimizer(task.optimizers, settled.config.sync.outer);
  programs.list.push_back(
      {"join", Use::join, 0, 0,
       compile(join_graph(training, settled.plan.rounds.replicas, settled.config.sync.outer_per_rate),
               join_options(training, groups, settled, outer))});
}

void add_apply(Programs& programs, const Settled& settled, const std::vector<ParameterGroup>& groups) {
  const Compiled& training = programs.update();
  const int64_t gradients = settled.config.sync.policy == Policy::backup ? settled.batch.workers() : 1;
  programs.list.push_back(
      {"apply", Use::apply, 0, 0,
       compile(apply_graph(training, groups, gradients), options_over(training, groups, settled, gradients))});
}

// Returns the names of the parameters that never learn, but for those of frozen groups.
std::vector<std::string> unused_though_learning(const Graph& graph, const std::vector<ParameterGroup>& groups) {
  std::vector<std::string> names = unused_parameters(graph);
  std::erase_if(names, [&](const std::string& name) {
    const Variable& parameter = *graph.find_variable(name);
    auto owner = std::ranges::find_if(groups, [&](const ParameterGroup& g) { return g.owns && g.owns(parameter); });
    if (owner == groups.end()) owner = std::ranges::find_if(groups, [](const ParameterGroup& g) { return !g.owns; });
    return owner != groups.end() && owner->is_frozen;
  });
  return names;
}

// Declares the programs of a training, the first phase's update first. Sets the members of `facts` except `dumps`.
// Throws Error for a mistake in the model.
std::vector<ProgramSpec> programs_of(const Task& task, const Settled& settled, ProgramFacts& facts) {
  const TrainConfig& config = settled.config;
  const DType real = graph_dtype(config.arithmetic.precision);
  const size_t phases = settled.plan.phase_count(), buckets = settled.buckets.size();
  const TrainingGraph training = training_graph(task, settled, 0, 0);
  const InferenceGraph inference = declare_inference(task, shape_of(settled, 0, 0), real);
  facts.metrics = {figures_of(inference.metrics), training.metrics, inference.loss, inference.metrics,
                   groups_of(training.objectives)};

  std::vector<ProgramSpec> specs;
  for (size_t phase = 0; phase < phases; ++phase)
    for (size_t bucket = 0; bucket < buckets; ++bucket)
      specs.push_back(update_of(task, settled, phase, bucket, training_graph(task, settled, phase, bucket)));
  for (size_t bucket = 0; bucket < buckets && settled.plan.copies().all > 0; ++bucket) {
    const TrainingGraph own = training_graph(task, settled, 0, bucket);
    specs.push_back(settled.plan.ordered > 0 ? gradient_of(task, settled, bucket, own)
                                             : replica_of(task, settled, bucket, own));
  }
  for (size_t phase = 0; phase < phases; ++phase)
    for (size_t bucket = 0; bucket < buckets && settled.plan.judging_phase(phase) == phase; ++bucket)
      add_evaluations(specs, settled, phase, bucket,
                      checked_inference(training.graph, task, shape_of(settled, phase, bucket), real));
  if (config.judging.recompute_bn > 0) specs.push_back(estimate_of(task, settled, real));

  check_target(config, facts.metrics.test);
  check_statistics(task, config, training);
  facts.parameters = parameter_count(training.graph);
  facts.unused = unused_though_learning(training.graph, parameter_groups(task, training, config));
  facts.training_text = to_text(training.graph);
  return specs;
}

// Returns the bytes of the slots of the outer optimizer. Those of averaged parameters belong to synchronous steps, too.
int64_t outer_bytes(const Compiled& join) {
  int64_t bytes = 0;
  for (const Variable& variable : join.variables)
    if (variable.kind == VariableKind::slot && !variable.name.ends_with(kEmaOffset)) bytes += variable.type.bytes();
  return bytes;
}

}  // namespace

Programs compile_programs(const Task& task, const Settled& settled, const std::vector<Dump>& dump) {
  Programs programs;
  std::vector<ProgramSpec> specs = programs_of(task, settled, programs);
  Dumps dumps(dump, programs.dumps);
  programs.list.reserve(specs.size() + 1);
  for (ProgramSpec& spec : specs) {
    dumps.graph(spec.name, spec.graph);
    dumps.hook(spec.name, spec.options);
    if (spec.use != Use::update) spec.options.space = &programs.update().space;
    programs.list.push_back(
        {spec.name, spec.use, spec.phase, spec.bucket, compile_with_tables(spec.graph, task, spec.rows, spec.options)});
  }
  if (settled.plan.rounds.replicas > 0) add_join(programs, task, settled, specs.front().options.groups);
  if (settled.plan.ordered > 0) add_apply(programs, settled, specs.front().options.groups);
  make_room(programs, task, settled, specs);
  for (const CompiledProgram& program : programs.list)
    dumps.compiled(program.name, program.compiled.program, settled.target);
  return programs;
}

const Compiled* Programs::find(Use use, size_t phase, size_t bucket) const {
  const auto at = std::ranges::find_if(
      list, [&](const CompiledProgram& p) { return p.use == use && p.phase == phase && p.bucket == bucket; });
  return at == list.end() ? nullptr : &at->compiled;
}

int64_t total_memory(const Programs& programs, const ParameterCopies& copies, Processor processor) {
  std::vector<const Compiled*> all;
  const int64_t kept = processor == Processor::cpu ? copies.all : copies.own;
  int64_t state = 0;
  for (const CompiledProgram& program : programs.list) {
    const bool is_replica = program.use == Use::replica;
    all.insert(all.end(), is_replica ? static_cast<size_t>(copies.own) : 1, &program.compiled);
    const MemoryAnswer answer = memory_answer(program.compiled);
    if (is_replica && program.bucket == 0)  // all buckets share the state of a copy
      state += kept * (answer.parameters + answer.optimizer + answer.statistics);
    if (program.use == Use::join) state += outer_bytes(program.compiled);
  }
  return total_memory(all) + state;
}

}  // namespace kb
