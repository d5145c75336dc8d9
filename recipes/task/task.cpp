#include "recipes/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "recipes/task/checked_output.h"

namespace kb {
namespace {

struct Declared {
  Tensor weights;
  ModelOutput output;

  Tensor summed(Tensor values) const { return sum(values * weights); }
  // Returns the mean over the global minibatch, of which each worker has a share.
  Tensor mean(Tensor values, Tensor count) const {
    if (!count.valid()) return summed(values);
    return worker_sum(summed(values)) / divisor_of(worker_sum(summed(count)));
  }
};

Declared declare(Graph& graph, const Task& task, BatchShape batch, DType real) {
  if (!task.model) throw Error(fmt::format("task {} has no model function (Task::model)", task.name));
  check_fields(task.name, task.fields);
  check_pieces(task.name, task.sequence, batch.pieces);
  if (batch.length == 0) batch.length = task.length;
  Inputs inputs(graph, task.fields, batch, real);
  ModelOutput output = task.model(inputs);
  check_output(task.name, output, batch.samples);
  return {inputs.weights(), std::move(output)};
}

void add_output(Graph& graph, const std::string& name, Tensor value) {
  graph.outputs.push_back({name, value.value(), Merge::sum});
}

bool has_counts(const Losses& losses) { return std::ranges::any_of(losses, &Tensor::valid, &Loss::count); }

// Returns the sum of all losses for each sample, if no loss has a count.
Tensor total_of(const Losses& losses) {
  Tensor total = losses.front().values;
  for (size_t i = 1; i < losses.size(); ++i) total = total + losses[i].values;
  return total;
}

// Returns the total of several losses over the global minibatch.
Tensor total_mean(const Declared& declared) {
  const Losses& losses = declared.output.losses;
  if (!has_counts(losses)) return declared.summed(total_of(losses));
  Tensor total;
  for (const Loss& loss : losses) {
    const Tensor mean =
        loss.count.valid() ? declared.mean(loss.values, loss.count) : worker_sum(declared.summed(loss.values));
    total = total.valid() ? total + mean : mean;
  }
  return total;
}

// Adds a loss that is minimised as an output. With a count both are sums, which the compiler divides.
void add_objective(TrainingGraph& training, const Declared& declared, const Loss& loss) {
  const bool is_one = declared.output.losses.size() == 1;
  Objective objective{is_one ? Objective().name : loss.name, loss.group};
  add_output(training.graph, objective.name, declared.summed(loss.values));
  if (loss.count.valid()) {
    objective.count = objective.name + ".count";
    add_output(training.graph, objective.count, declared.summed(loss.count));
  }
  if (!is_one) training.metrics.push_back({loss.name});
  training.objectives.push_back(std::move(objective));
}

// Returns several losses as metrics under their own names; nothing for a single one, which is the output "loss"
// already.
std::vector<Metric> losses_by_name(const Losses& losses) {
  std::vector<Metric> metrics;
  if (losses.size() > 1)
    for (const Loss& loss : losses) metrics.emplace_back(loss.name, loss.values, MetricKind{}, loss.count);
  return metrics;
}

// Returns the loss of an evaluation: the sum of all losses.
Metric loss_figure(const Losses& losses) {
  if (!has_counts(losses)) return {"loss", total_of(losses)};
  std::vector<MetricOutput> sums;
  std::vector<bool> is_counted;
  for (const Loss& loss : losses) {
    sums.push_back({loss.values});
    is_counted.push_back(loss.count.valid());
    if (loss.count.valid()) sums.push_back({loss.count});
  }
  return {{{"loss"}}, sums, [is_counted](std::span<const MetricValues> all, int64_t samples) {
            double total = 0;
            size_t at = 0;
            for (const bool counted : is_counted) {
              const double sum = all[at++].values[0];
              total += counted_mean(sum, counted ? all[at++].values[0] : static_cast<double>(samples));
            }
            return std::vector{total};
          }};
}

// Adds the outputs that an evaluation gathers for the metric. Sums over the samples are weighted, so that rows which
// only pad the last batch, and have the weight 0, do not count.
GatheredMetric add_gathered(Graph& graph, const Declared& declared, const Metric& metric, DType real) {
  GatheredMetric gathered{metric.figures, {}, metric.finish};
  if (metric.is_mean)
    gathered.finish = [kind = metric.figures.front().kind](std::span<const MetricValues> sums, int64_t samples) {
      const double count = sums.size() > 1 ? sums[1].values[0] : static_cast<double>(samples);
      const double mean = counted_mean(sums[0].values[0], count);
      return std::vector{kind.finish ? kind.finish(mean) : mean};
    };
  for (const MetricOutput& output : metric.outputs) {
    const std::string& first = metric.figures.front().name;
    const size_t number = gathered.outputs.size();
    const std::string name = number == 0 ? first : fmt::format("{}.{}", first, number);
    Tensor values = cast(output.values, real);
    const Dims shape(values.shape().begin() + 1, values.shape().end());
    if (!output.keeps_rows) {
      Dims rows(values.shape().size(), 1);
      rows[0] = values.size(0);
      values = shape.empty() ? declared.summed(values) : sum(values * reshape(declared.weights, rows), {0});
    }
    add_output(graph, name, values);
    gathered.outputs.push_back({name, shape, output.keeps_rows, 0});
  }
  return gathered;
}

// Adds the output of a metric that is a mean over the global minibatch.
void add_mean(TrainingGraph& training, const Declared& declared, const Metric& metric, DType real) {
  const NamedMetric& figure = metric.figures.front();
  const Tensor values = cast(metric.outputs[0].values, real);
  const Tensor count = metric.outputs.size() > 1 ? cast(metric.outputs[1].values, real) : Tensor();
  add_output(training.graph, figure.name, declared.mean(values, count));
  training.metrics.push_back(figure);
}

GatheredMetric add_drawing(Graph& graph, const Drawing& drawing, DType real) {
  const Tensor images = cast(drawing.images, real);
  add_output(graph, drawing.name, images);
  return {{}, {{drawing.name, Dims(images.shape().begin() + 1, images.shape().end()), true, drawing.count}}, {}};
}

std::map<std::string, std::string> owned(const Graph& graph) {
  std::map<std::string, std::string> variables;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::parameter || v.kind == VariableKind::state)
      variables[v.name] = fmt::format("{} {}", name(v.kind), to_string(v.type));
  return variables;
}

}  // namespace

std::vector<std::string> Task::fields_in_memory() const {
  std::vector<std::string> names;
  for (const Field& field : fields)
    if (field.in_memory) names.push_back(field.name);
  return names;
}

bool Task::is_ragged() const { return std::ranges::any_of(fields, &Field::is_ragged); }

TrainingGraph declare_training(const Task& task, BatchShape batch, DType real, bool with_metrics) {
  TrainingGraph training{Graph(task.name, Mode::training), {}, {}};
  const Declared declared = declare(training.graph, task, batch, real);
  const Losses& losses = declared.output.losses;
  if (losses.size() == 1)
    add_objective(training, declared, losses.front());
  else
    add_output(training.graph, "loss", total_mean(declared));
  for (const Metric& metric : declared.output.metrics)
    if (with_metrics && metric.is_mean) add_mean(training, declared, metric, real);
  for (const Loss& loss : losses)
    if (losses.size() > 1) add_objective(training, declared, loss);
  return training;
}

InferenceGraph declare_inference(const Task& task, BatchShape batch, DType real) {
  InferenceGraph inference{Graph(task.name + ".predict", Mode::inference), {}, {}};
  const Declared declared = declare(inference.graph, task, batch, real);
  inference.loss = add_gathered(inference.graph, declared, loss_figure(declared.output.losses), real);
  std::vector<Metric> metrics = declared.output.metrics;
  for (Metric& loss : losses_by_name(declared.output.losses)) metrics.push_back(std::move(loss));
  for (const Metric& metric : metrics)
    inference.metrics.push_back(add_gathered(inference.graph, declared, metric, real));
  for (const Drawing& drawing : declared.output.drawings)
    inference.metrics.push_back(add_drawing(inference.graph, drawing, real));
  add_output(inference.graph, "count", sum(declared.weights));
  return inference;
}

Graph build_training_graph(const Task& task, BatchShape batch, DType real) {
  return declare_training(task, batch, real, false).graph;
}

Graph build_inference_graph(const Task& task, BatchShape batch, DType real) {
  return declare_inference(task, batch, real).graph;
}

Graph build_logits_graph(const Task& task, BatchShape batch, DType real) {
  Graph graph(task.name + ".logits", Mode::inference);
  const Declared declared = declare(graph, task, batch, real);
  if (!declared.output.logits.valid())
    throw Error(fmt::format("recipe {}: expected a model whose output has logits (classification), got one without",
                            task.name));
  add_output(graph, "logits", declared.output.logits);
  return graph;
}

Graph build_statistics_graph(const Task& task, BatchShape batch, DType real) {
  Graph graph(task.name + ".statistics", Mode::statistics);
  Declared declared = declare(graph, task, batch, real);
  if (graph.writes.empty())
    throw Error(
        fmt::format("judging.recompute_bn: expected a model with batch norm, got {}, which has none", task.name));
  add_output(graph, "count", sum(declared.weights));
  return graph;
}

Graph build_loss_graph(const Task& task, BatchShape batch, DType real) {
  Graph graph(task.name + ".loss", Mode::statistics);
  const Declared declared = declare(graph, task, batch, real);
  graph.writes.clear();
  Tensor total;
  for (const Loss& loss : declared.output.losses) {
    Tensor mean = declared.summed(loss.values);
    if (loss.count.valid()) mean = mean / divisor_of(declared.summed(loss.count));
    total = total.valid() ? total + mean : mean;
  }
  add_output(graph, "loss", total);
  return graph;
}

void check_same_parameters(const Graph& training, const Graph& inference) {
  auto in_training = owned(training), in_inference = owned(inference);
  std::string differences;
  auto note = [&](const std::string& name, const std::string& trained, const std::string& predicted) {
    differences += fmt::format("\n  {}: {} in training, {} in inference", name, trained, predicted);
  };
  for (const auto& [name, type] : in_training) {
    auto at = in_inference.find(name);
    if (at == in_inference.end())
      note(name, type, "absent");
    else if (at->second != type)
      note(name, type, at->second);
  }
  for (const auto& [name, type] : in_inference)
    if (!in_training.contains(name)) note(name, "absent", type);
  if (differences.empty()) return;
  throw Error(
      fmt::format("recipe {}: the model declares other parameters in training than in inference:{}\n  hint:     "
                  "both declarations must own the same; what only training does (dropout) owns none",
                  training.name, differences));
}

std::vector<std::string> unused_parameters(const Graph& graph) {
  std::vector<bool> is_used(graph.nodes.size());
  for (const Output& output : graph.outputs) is_used[static_cast<size_t>(output.value.node)] = true;
  std::vector<std::string> unused;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (is_used[n] && node.op != Op::stop_gradient)
      for (const Value input : node.inputs) is_used[static_cast<size_t>(input.node)] = true;
    else if (!is_used[n] && node.op == Op::variable)
      if (const Variable* v = graph.find_variable(node.attrs.text("name")); v->kind == VariableKind::parameter)
        unused.push_back(v->name);
  }
  std::reverse(unused.begin(), unused.end());
  return unused;
}

int64_t parameter_count(const Graph& graph) {
  int64_t count = 0;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::parameter) count += v.type.elements();
  return count;
}

}  // namespace kb
