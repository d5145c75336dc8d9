#include "recipes/train/programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/text.h"
#include "optim/wrapped_rules.h"
#include "recipes/config/learning.h"
#include "recipes/config/plan.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/task/suggest.h"
#include "recipes/train/evaluation.h"
#include "recipes/train/kernel_source.h"

namespace kb {
namespace {

class Dumps {
 public:
  Dumps(const std::vector<Dump>& asked, std::vector<DumpFile>& files) : asked_(asked), files_(files) {}

  void graph(const std::string& name, const Graph& graph) {
    if (wants(Dump::graph)) files_.push_back({"graph." + name + ".txt", to_text(graph, {.places = true})});
    if (wants(Dump::graphviz)) files_.push_back({"graph." + name + ".dot", to_graphviz(graph)});
  }

  void hook(const std::string& name, CompileOptions& options) {
    if (!wants(Dump::passes)) return;
    options.dump = [this, name, number = 0](const std::string& pass, const std::string& before,
                                            const std::string& after) mutable {
      std::string stem = fmt::format("passes.{}.{:02}-{}", name, ++number, pass);
      files_.push_back({stem + ".before.txt", before});
      files_.push_back({stem + ".after.txt", after});
    };
  }

  void compiled(const std::string& name, const Program& program, const Target& target) {
    if (wants(Dump::schedule)) {
      std::string text;
      for (const Schedule* schedule : program.all())
        if (!schedule->steps.empty()) text += to_text(*schedule);
      files_.push_back({"schedule." + name + ".txt", std::move(text)});
    }
    const bool cpu = target.processor == Processor::cpu;
    if (wants(cpu ? Dump::cpp : Dump::cuda))
      files_.push_back({"kernels." + name + (cpu ? ".cpp" : ".cu"), kernel_source(program, target)});
  }

 private:
  bool wants(Dump what) const { return std::find(asked_.begin(), asked_.end(), what) != asked_.end(); }

  const std::vector<Dump>& asked_;
  std::vector<DumpFile>& files_;
};

// The hash stays that of the graph as it was declared.
Compiled compile_with_tables(Graph graph, const Task& task, int64_t rows, const CompileOptions& options) {
  if (rows == 0) return compile(std::move(graph), options);
  Compiled compiled = compile(with_tables(graph, task.fields_in_memory(), rows), options);
  compiled.graph_hash = content_hash(graph);
  return compiled;
}

// Returns the graph of a step; `metrics` takes those that it computes.
Graph training_graph(const Task& task, const Settled& settled, std::vector<NamedMetric>& metrics) {
  const TrainConfig& config = settled.config;
  return build_training_graph(task, settled.batch.per_worker, graph_dtype(config.arithmetic.precision),
                              config.judging.train_metrics ? &metrics : nullptr);
}

// Throws Error where the model has no such metric, and where no share of the samples is strictly better.
void check_target(const std::optional<TargetFigure>& target, const std::vector<NamedMetric>& metrics) {
  if (!target) return;
  std::vector<std::string> names;
  for (const auto& [name, kind] : metrics)
    if (name == target->metric && kind.is_share && !target->can_be_reached(kind.higher_is_better))
      throw Error(fmt::format("length.target: expected a share that some training can be better than, {}, got {}",
                              kind.higher_is_better ? "below 1" : "above 0", target->text()));
  for (const NamedMetric& metric : metrics) names.push_back(metric.name);
  names.emplace_back(kLossName);
  if (std::find(names.begin(), names.end(), target->metric) != names.end()) return;
  const std::string guess = nearest(target->metric, names);
  throw Error(fmt::format("length.target: expected a metric of the model: {}; got '{}'{}", fmt::join(names, ", "),
                          target->metric, guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess)));
}

// Running statistics gathered at the point of the gradient are not those of the parameters.
void check_statistics(const Task& task, const TrainConfig& config, const Graph& training) {
  if (config.judging.recompute_bn > 0 || training.writes.empty()) return;
  if (find_optimizer(task.optimizers, config.learning.optimizer).schedule_free)
    throw Error(
        fmt::format("judging.recompute_bn: expected a number above 0 beside learning.optimizer = {} and batch norm, "
                    "got 0: training "
                    "gathers running statistics at another point than the one that is evaluated\n  hint: "
                    "judging.recompute_bn = 20",
                    config.learning.optimizer));
}

UpdateRule rule_of(const Task& task, const Learning& learning) {
  UpdateRule rule = update_rule(find_optimizer(task.optimizers, learning.optimizer));
  if (learning.clip_norm > 0) rule = with_clipped_gradient(std::move(rule));
  return learning.ema > 0 ? with_averaged_parameters(std::move(rule)) : rule;
}

}  // namespace

void check_target(const std::optional<TargetFigure>& target, const Task& task) {
  std::vector<NamedMetric> metrics;
  if (target) build_inference_graph(task, 1, DType::f32, &metrics);
  check_target(target, metrics);
}

CompileOptions training_options(const Task& task, const Settled& settled, const BatchPlan& batch) {
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
  options.groups = {{.rule = rule_of(task, config.learning)}};
  options.groups[0].no_decay = config.learning.no_decay;
  options.groups[0].no_adapt = config.learning.no_adapt;
  options.log_layers = config.judging.log_layers.has_value();
  return options;
}

namespace {

Compiled compile_step(const Task& task, const Settled& settled, const CompileOptions& options) {
  std::vector<NamedMetric> metrics;
  return compile_with_tables(training_graph(task, settled, metrics), task, settled.residency.train, options);
}

}  // namespace

Compiled compile_training(const Task& task, const Settled& settled) {
  return compile_step(task, settled, training_options(task, settled, settled.batch));
}

CheckProgram compile_check(const Task& task, const Settled& settled, const ParameterSpace& space) {
  const CompileOptions training = training_options(task, settled, settled.batch);
  CompileState state{training, {}, {}};
  std::vector<NamedMetric> metrics;
  CheckProgram check{{}, find_probes(differentiate(training_graph(task, settled, metrics), state))};
  CompileOptions options;
  options.target = settled.target;
  options.precision = training.precision;
  options.space = &space;
  options.offset = gradient_offset(training.groups[0].rule);
  check.compiled = compile(with_probes(check.probes), options);
  return check;
}

namespace {

// Compiles the steps anew, each for the memory that the other programs leave, where all together take too much.
// `options`: of the first step.
void make_room(Programs& programs, const Task& task, const Settled& settled, const CompileOptions& options) {
  const auto most = static_cast<int64_t>(kFitShare * static_cast<double>(settled.target.memory_bytes));
  const auto make_smaller = [&](Compiled& step, CompileOptions less) {
    const int64_t total = total_memory(all_of(programs));
    if (settled.target.memory_bytes == 0 || total <= most || !step.recomputed.empty()) return;
    const int64_t others = total - memory_answer(step).total();
    less.target.memory_bytes =
        std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(most - others) / kFitShare));
    if (less.dump) std::erase_if(programs.dumps, [](const DumpFile& f) { return f.name.starts_with("passes.train."); });
    step = compile_step(task, settled, less);
  };
  make_smaller(programs.training, options);
  for (size_t i = 0; i < programs.grown.size(); ++i)
    make_smaller(programs.grown[i], training_options(task, settled, settled.batch_of(i + 1)));
}

}  // namespace

Programs compile_programs(const Task& task, const Settled& settled, const std::vector<Dump>& dump) {
  const TrainConfig& config = settled.config;
  Programs programs;
  Dumps dumps(dump, programs.dumps);
  const DType real = graph_dtype(config.arithmetic.precision);
  Graph training = training_graph(task, settled, programs.metrics.training);
  const int64_t n = settled.batch.per_worker;
  Graph inference = build_inference_graph(task, n, real, &programs.metrics.test);
  std::optional<Graph> statistics;
  if (config.judging.recompute_bn > 0) statistics = build_statistics_graph(task, n, real);
  check_target(config.length.target, programs.metrics.test);
  check_statistics(task, config, training);
  check_same_parameters(training, inference);
  programs.parameters = parameter_count(training);
  programs.unused = unused_parameters(training);
  programs.training_text = to_text(training);
  dumps.graph("train", training);
  dumps.graph("predict", inference);
  if (statistics) dumps.graph("statistics", *statistics);

  CompileOptions options = training_options(task, settled, settled.batch);
  CompileOptions for_inference;
  for_inference.target = settled.target;
  for_inference.precision = options.precision;
  dumps.hook("train", options);
  programs.training = compile_with_tables(std::move(training), task, settled.residency.train, options);
  for_inference.space = &programs.training.space;
  if (config.judging.eval_ema) {
    CompileOptions for_average = for_inference;
    for_average.offset = kEmaOffset;
    dumps.hook("averaged", for_average);
    programs.averaged = compile_with_tables(inference, task, settled.residency.test, for_average);
    dumps.compiled("averaged", programs.averaged->program, settled.target);
  }
  for (size_t phase = 1; phase < settled.plan.phase_count(); ++phase)
    programs.grown.push_back(compile_step(task, settled, training_options(task, settled, settled.batch_of(phase))));
  dumps.hook("predict", for_inference);
  programs.inference = compile_with_tables(std::move(inference), task, settled.residency.test, for_inference);
  dumps.compiled("predict", programs.inference.program, settled.target);
  if (statistics) {
    dumps.hook("statistics", for_inference);
    programs.statistics = compile(std::move(*statistics), for_inference);
    dumps.compiled("statistics", programs.statistics->program, settled.target);
  }
  make_room(programs, task, settled, options);
  dumps.compiled("train", programs.training.program, settled.target);
  return programs;
}

namespace {

std::unique_ptr<Session> session_of(Backend& backend, StateStore& store, std::optional<Compiled>& compiled) {
  return compiled ? std::make_unique<Session>(backend, store, std::move(*compiled)) : nullptr;
}

}  // namespace

std::vector<const Compiled*> all_of(const Programs& programs) {
  std::vector<const Compiled*> all = {&programs.training, &programs.inference};
  for (const std::optional<Compiled>* other : {&programs.statistics, &programs.averaged})
    if (*other) all.push_back(&**other);
  for (const Compiled& step : programs.grown) all.push_back(&step);
  return all;
}

std::vector<const Compiled*> all_of(const LoadedPrograms& programs) {
  std::vector<const Compiled*> all = {&programs.training.compiled(), &programs.inference.compiled()};
  for (const std::unique_ptr<Session>* other : {&programs.statistics, &programs.averaged})
    if (*other) all.push_back(&(*other)->compiled());
  for (const std::unique_ptr<Session>& step : programs.grown) all.push_back(&step->compiled());
  return all;
}

LoadedPrograms::LoadedPrograms(Backend& backend, Programs compiled, uint32_t seed)
    : parameters(compiled.parameters),
      unused(std::move(compiled.unused)),
      training_text(std::move(compiled.training_text)),
      metrics(std::move(compiled.metrics)),
      dumps(std::move(compiled.dumps)),
      store(backend),
      training(backend, store, std::move(compiled.training)),
      inference(backend, store, std::move(compiled.inference)),
      statistics(session_of(backend, store, compiled.statistics)),
      averaged(session_of(backend, store, compiled.averaged)) {
  for (Compiled& step : compiled.grown) grown.push_back(std::make_unique<Session>(backend, store, std::move(step)));
  store.initialise(seed);
}

}  // namespace kb
