#include "recipes/task/checked_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

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

[[noreturn]] void refuse_none(const std::string& recipe, const std::string& what, const char* expected) {
  throw Error(fmt::format(
      "recipe {}: {} of the model\n  expected: {}\n  got:      none\n  hint:     the model function sets them in the "
      "ModelOutput that it returns; classification() makes one",
      recipe, what, expected));
}

void check_given(const std::string& recipe, const std::string& what, Tensor values) {
  if (!values.valid()) refuse_none(recipe, what, "a tensor");
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

// Keys that lines of metrics.jsonl have themselves (recipes/train/metrics.cpp), between commas, which no name has. A
// metric is a key in the same lines and must not be called like one of them.
constexpr std::string_view kKeys =
    ",kind,step,epoch,wall_s,loss,lr,samples_per_s,data_wait_ms,loss_scale,count,length,padding,clock_s,staleness,part,"
    "state,seconds,gain,scale_invariant_iterations,gradient2,worker_gradient2,noise_scale,noise_scale_low,"
    "noise_scale_high,steps,state_sha256,diverged,";

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
  const bool is_taken = name.ends_with("_mean") || name.starts_with("train_") || name.starts_with("ema_") ||
                        name.starts_with("lr.") || kKeys.find(fmt::format(",{},", name)) != std::string_view::npos;
  if (!is_taken) return;
  throw Error(
      fmt::format("task {}: a metric is called '{}'\n  expected: another name\n  hint:     lines of "
                  "metrics.jsonl have values of their own by it, and NAME_mean, train_NAME, ema_NAME and lr.NAME",
                  task, name));
}

void check_losses(const std::string& task, const Losses& losses, int64_t minibatch) {
  if (losses.empty()) refuse_none(task, "losses", "one, or several with different names");
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

}  // namespace

void check_output(const std::string& task, const ModelOutput& output, int64_t minibatch) {
  check_losses(task, output.losses, minibatch);
  check_metrics(task, output.metrics);
  check_names(task, output);
  for (const Metric& metric : output.metrics) check_outputs(task, metric, minibatch);
  for (const Drawing& drawing : output.drawings) check_drawing(task, drawing, minibatch);
}

}  // namespace kb
