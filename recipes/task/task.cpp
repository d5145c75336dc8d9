#include "recipes/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "runtime/utf8.h"

namespace kb {
namespace {

[[noreturn]] void refuse_values(const std::string& recipe, const std::string& what, Tensor values, int64_t minibatch,
                                const char* shape, std::string hint) {
  const Graph& graph = values.graph();
  if (values.rank() == 0)
    hint =
        "leave out the mean or sum over N: the framework reduces over the samples with their weights, so that the "
        "loss is the mean over the global minibatch and padded rows count nothing";
  throw Error(fmt::format("{}: recipe {}: {} of the model\n  expected: float [N={}{}]\n  got:      {}\n  hint:     {}",
                          graph.place(graph.node(values.value())), recipe, what, minibatch, shape,
                          to_string(values.type()), hint));
}

void check_given(const std::string& recipe, const std::string& what, Tensor values) {
  if (!values.valid()) throw Error(fmt::format("recipe {}: the model returned no {}", recipe, what));
}

void check_per_sample(const std::string& recipe, const std::string& what, Tensor values, int64_t minibatch) {
  check_given(recipe, what, values);
  if (values.shape() == Dims{minibatch} && is_float(values.dtype())) return;
  refuse_values(recipe, what, values, minibatch, "", "a model returns one value a sample");
}

// Throws Error unless `values` is a float tensor with a row for each sample.
void check_rows(const std::string& recipe, const std::string& what, Tensor values, int64_t minibatch) {
  check_given(recipe, what, values);
  if (values.rank() > 0 && values.size(0) == minibatch && is_float(values.dtype())) return;
  refuse_values(recipe, what, values, minibatch, ", ...", "a row for each sample, whatever its shape");
}

// Keys that lines of metrics.jsonl have themselves (recipes/train/metrics.h). A metric is a key in the same lines and
// must not be called like one of them.
constexpr const char* kKeys[] = {"kind",         "step",       "epoch", "wall_s", "loss",    "lr",      "samples_per_s",
                                 "data_wait_ms", "loss_scale", "count", "length", "padding", "clock_s", "staleness"};

// Returns whether a name can be written without quoting or escapes in JSON, CSV, TensorBoard's tags and values of
// flags.
bool is_plain(const std::string& name) {
  const auto is_forbidden = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f' ||
           std::string_view("\"\\=,").find(c) != std::string::npos;
  };
  return !name.empty() && std::none_of(name.begin(), name.end(), is_forbidden) && characters_of(name) == name;
}

void check_metric_name(const std::string& task, const std::string& name) {
  if (!is_plain(name))
    throw Error(fmt::format(
        "task {}: a metric is called '{}'\n  expected: a name without quotes, backslashes, commas, '=' and "
        "control characters\n  hint:     it is a key of metrics.jsonl, a column of metrics.csv and a word of "
        "length.target",
        task, characters_of(name)));
  const bool is_mean = name.ends_with("_mean") || name.starts_with("train_") || name.starts_with("ema_");
  if (!is_mean && std::find(std::begin(kKeys), std::end(kKeys), name) == std::end(kKeys)) return;
  throw Error(
      fmt::format("task {}: a metric is called '{}'\n  expected: another name\n  hint:     lines of "
                  "metrics.jsonl have values of their own by it, and NAME_mean, train_NAME and ema_NAME",
                  task, name));
}

void check_losses(const std::string& task, const Losses& losses, int64_t minibatch) {
  if (losses.empty()) throw Error(fmt::format("recipe {}: the model returned no loss", task));
  const bool has_names = losses.size() > 1;
  for (const Loss& loss : losses) {
    if (has_names) check_metric_name(task, loss.name);
    const std::string what = has_names ? fmt::format("loss '{}'", loss.name) : "loss";
    check_per_sample(task, what, loss.values, minibatch);
    if (loss.count.valid()) check_per_sample(task, "count of the " + what, loss.count, minibatch);
  }
}

void check_metrics(const std::string& task, const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics)
    for (const NamedMetric& figure : metric.figures) check_metric_name(task, figure.name);
}

// Throws Error if two figures, losses or drawings have the same name, or if the name of a drawing cannot begin the name
// of a file.
void check_names(const std::string& task, const ModelOutput& output) {
  std::vector<std::string> names;
  for (const Metric& metric : output.metrics)
    for (const NamedMetric& figure : metric.figures) names.push_back(figure.name);
  for (const Loss& loss : output.losses)
    if (output.losses.size() > 1) names.push_back(loss.name);
  for (const Drawing& drawing : output.drawings) {
    check_metric_name(task, drawing.name);
    if (drawing.name.find('/') != std::string::npos)
      throw Error(fmt::format("task {}: drawing '{}'\n  expected: a name without '/', which begins that of a file",
                              task, drawing.name));
    names.push_back(drawing.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw Error(
        fmt::format("task {}: '{}' is the name of several\n  expected: a name of its own for each loss, figure "
                    "and drawing",
                    task, *twice));
}

void check_outputs(const std::string& task, const Metric& metric, int64_t minibatch) {
  if (metric.figures.empty()) throw Error(fmt::format("task {}: a metric has no figure\n  expected: a name", task));
  if (!metric.is_mean && (!metric.finish || metric.outputs.empty()))
    throw Error(fmt::format(
        "task {}: metric '{}'\n  expected: outputs, and a function that makes figures of them\n"
        "  got:      {} outputs, {}",
        task, metric.figures.front().name, metric.outputs.size(), metric.finish ? "a function" : "no function"));
  const std::string what = fmt::format("metric '{}'", metric.figures.front().name);
  for (const MetricOutput& output : metric.outputs)
    metric.is_mean ? check_per_sample(task, what, output.values, minibatch)
                   : check_rows(task, what, output.values, minibatch);
}

void check_drawing(const std::string& task, const Drawing& drawing, int64_t minibatch) {
  const Tensor images = drawing.images;
  if (images.valid() && images.rank() == 4 && images.size(0) == minibatch && is_float(images.dtype()) &&
      (images.size(1) == 1 || images.size(1) == 3) && drawing.count > 0)
    return;
  throw Error(
      fmt::format("task {}: drawing '{}'\n  expected: float [N={}, C, H, W] with C 1 or 3, and a count above 0\n"
                  "  got:      {}, count {}",
                  task, drawing.name, minibatch, images.valid() ? to_string(images.type()) : "nothing", drawing.count));
}

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
  const int64_t minibatch = batch.samples;
  Inputs inputs(graph, task.fields, batch, real);
  ModelOutput output = task.model(inputs);
  check_losses(task.name, output.losses, minibatch);
  check_metrics(task.name, output.metrics);
  check_names(task.name, output);
  for (const Metric& metric : output.metrics) check_outputs(task.name, metric, minibatch);
  for (const Drawing& drawing : output.drawings) check_drawing(task.name, drawing, minibatch);
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
    if (is_used[n])
      for (const Value input : node.inputs) is_used[static_cast<size_t>(input.node)] = true;
    else if (node.op == Op::variable)
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
