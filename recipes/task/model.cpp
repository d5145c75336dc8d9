#include "recipes/task/model.h"

#include <fmt/format.h>

#include <map>

#include "graph/error.h"
#include "recipes/task/augment.h"

namespace kb {
namespace {

struct Declared {
  Tensor weights;
  ModelOutput output;
};

// (x / 255 - mean) / stddev for x in 0 to 255, as one product and one difference: a division for each pixel would cost
// more than all the memory it touches.
Tensor normalise(Tensor images, const InputSpec& input, DType real) {
  Dims per_channel = {input.shape.channels, 1, 1};
  Graph& graph = images.graph();
  std::vector<double> scale, shift;
  for (size_t c = 0; c < input.mean.size(); ++c) {
    scale.push_back(1 / (255 * input.stddev[c]));
    shift.push_back(input.mean[c] / input.stddev[c]);
  }
  return cast(images, real) * constant(graph, real, per_channel, scale) - constant(graph, real, per_channel, shift);
}

void check_per_sample(const std::string& recipe, const std::string& what, Tensor values, int64_t minibatch) {
  if (!values.valid()) throw Error(fmt::format("recipe {}: the model returned no {}", recipe, what));
  if (values.shape() == Dims{minibatch} && is_float(values.dtype())) return;
  const Graph& graph = values.graph();
  std::string hint = "a model returns one value a sample";
  if (values.rank() == 0)
    hint =
        "leave out the mean or sum over N: the framework reduces over the samples with their weights, so that the "
        "loss is the mean over the global minibatch and padded rows count nothing";
  throw Error(fmt::format("{}: recipe {}: {} of the model\n  expected: float [N={}]\n  got:      {}\n  hint:     {}",
                          graph.place(graph.node(values.value())), recipe, what, minibatch, to_string(values.type()),
                          hint));
}

void check_mixed_labels(const Graph& graph, const Recipe& recipe, const Batch& batch) {
  if (!batch.other_labels.valid()) return;
  for (const Node& node : graph.nodes)
    for (const Value input : node.inputs)
      if (input == batch.other_labels.value()) return;
  throw Error(
      fmt::format("recipe {}: mixup mixes the images, but the model's loss does not read Batch::other_labels\n"
                  "  hint:     classification(batch, logits) does; or leave out --augment mixup",
                  recipe.name));
}

Declared declare(Graph& graph, const Recipe& recipe, const InputSpec& input, int64_t minibatch,
                 const OptionValues& options, const AugmentSpec& augment, DType real) {
  const ImageShape& shape = input.shape;
  Tensor pixels = kb::input(graph, "images", DType::u8, {minibatch, shape.channels, shape.height, shape.width}, "NCHW");
  pixels = augment_images(pixels, augment, input);
  Batch batch{{},
              index_input(graph, "labels", {minibatch}, input.classes, "N"),
              scalar_input(graph, "label_smoothing", real),
              input.classes,
              options};
  if (augment.mixup > 0) {
    const Mixing mixing = mix_inputs(graph, minibatch, real);
    pixels = mix_images(pixels, mixing);
    batch.other_labels = gather(batch.labels, mixing.partner);
    batch.label_weight = mixing.weight;
  }
  batch.images = normalise(pixels, input, real);
  Declared declared{kb::input(graph, "weights", real, {minibatch}, "N"), recipe.model(batch)};
  check_mixed_labels(graph, recipe, batch);
  check_per_sample(recipe.name, "loss", declared.output.loss, minibatch);
  for (const Metric& metric : declared.output.metrics)
    check_per_sample(recipe.name, fmt::format("metric '{}'", metric.name), metric.values, minibatch);
  return declared;
}

void add_output(Graph& graph, const std::string& name, Tensor value) {
  graph.outputs.push_back({name, value.value(), Merge::sum});
}

std::map<std::string, std::string> owned(const Graph& graph) {
  std::map<std::string, std::string> variables;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::parameter || v.kind == VariableKind::state)
      variables[v.name] = fmt::format("{} {}", name(v.kind), to_string(v.type));
  return variables;
}

}  // namespace

ModelOutput classification(const Batch& batch, Tensor logits, Where where) {
  Tensor loss = cross_entropy(logits, batch.labels, batch.label_smoothing, where);
  if (batch.other_labels.valid())
    loss = batch.label_weight * loss +
           (1.0 - batch.label_weight) * cross_entropy(logits, batch.other_labels, batch.label_smoothing, where);
  return {loss, {{"error", 1.0 - argmax_equals(logits, batch.labels, where)}}};
}

Graph build_training_graph(const Recipe& recipe, const InputSpec& input, int64_t minibatch, const OptionValues& options,
                           const AugmentSpec& augment, DType real) {
  Graph graph(recipe.name, Mode::training);
  Declared declared = declare(graph, recipe, input, minibatch, options, augment, real);
  add_output(graph, "loss", sum(declared.output.loss * declared.weights));
  return graph;
}

Graph build_inference_graph(const Recipe& recipe, const InputSpec& input, int64_t minibatch,
                            const OptionValues& options, DType real) {
  Graph graph(recipe.name + ".predict", Mode::inference);
  Declared declared = declare(graph, recipe, input, minibatch, options, {}, real);
  add_output(graph, "loss", sum(declared.output.loss * declared.weights));
  for (const Metric& metric : declared.output.metrics)
    add_output(graph, metric.name, sum(cast(metric.values, real) * declared.weights));
  add_output(graph, "count", sum(declared.weights));
  return graph;
}

Graph build_statistics_graph(const Recipe& recipe, const InputSpec& input, int64_t minibatch,
                             const OptionValues& options, DType real) {
  Graph graph(recipe.name + ".statistics", Mode::statistics);
  Declared declared = declare(graph, recipe, input, minibatch, options, {}, real);
  if (graph.writes.empty())
    throw Error(fmt::format("--recompute-bn: expected a model with batch norm, got {}, which has none", recipe.name));
  add_output(graph, "count", sum(declared.weights));
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

int64_t parameter_count(const Graph& graph) {
  int64_t count = 0;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::parameter) count += v.type.elements();
  return count;
}

}  // namespace kb
