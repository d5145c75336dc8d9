#include "recipes/task/sequence_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {

DecoderStep::DecoderStep(Graph& graph, const std::vector<std::pair<std::string, Type>>& memory,
                         const DecoderSizes& sizes, DType real)
    : graph_(graph),
      sizes_(sizes),
      real_(real),
      tokens_(index_input(graph, kStepTokens, {sizes.rows, std::max<int64_t>(1, sizes.prefill)}, sizes.vocabulary)),
      places_(sizes.prefill > 0 ? iota(graph, DType::i32, sizes.prefill)
                                : index_input(graph, kStepPlace, {1}, sizes.steps)) {
  if (sizes.prefill == 0) parents_ = index_input(graph, kStepParents, {sizes.rows}, sizes.rows);
  for (const auto& [name, type] : memory) {
    Dims shape = type.shape;
    shape.at(0) = sizes.rows;
    memory_.push_back({name, input(graph, name, type.dtype, shape)});
  }
}

Tensor DecoderStep::memory(const std::string& name) const {
  const auto found = std::ranges::find(memory_, name, &Memory::name);
  if (found == memory_.end())
    throw Error(fmt::format("the step of a decoder asks for '{}': expected what its encoder gives", name));
  return found->value;
}

// Takes a value of a step, [rows, 1, ...], and returns those of all steps, [rows, steps, ...]: of places after this one
// whatever an earlier call left.
Tensor DecoderStep::kept(const std::string& name, Tensor value) {
  Dims shape = value.shape();
  shape.at(1) = sizes_.steps;
  const Tensor before = cache(graph_, name, {value.dtype(), shape, ""});
  Ints axes;
  for (int64_t axis = 0; axis < value.rank(); ++axis) axes.push_back(axis);
  const Tensor places = broadcast_axes(iota(graph_, DType::i32, sizes_.steps), shape, {1});
  const Tensor is_now = eq(places, broadcast_axes(reshape(places_, {}), shape, {}));
  const Tensor all = select(is_now, broadcast_axes(value, shape, axes), gather(before, parents_));
  write_cache(before, all);
  return all;
}

Tensor DecoderStep::attend(const std::string& name, Tensor q, Tensor k, Tensor v, AttentionOptions options) {
  const std::string keys = name + ".keys", values = name + ".values";
  if (sizes_.prefill > 0) {
    graph_.outputs.push_back({scoped(keys), k.value(), Merge::per_sample});
    graph_.outputs.push_back({scoped(values), v.value(), Merge::per_sample});
    options.causal = true;
    return attention(q, k, v, options);
  }
  options.lengths = broadcast_axes(places_ + 1.0, {sizes_.rows}, {0});
  return attention(q, kept(keys, k), kept(values, v), options);
}

Graph build_encoder_graph(const Task& task, const SequenceModel& model, BatchShape batch, DType real) {
  Graph graph(task.name + ".encode", Mode::inference);
  Inputs inputs(graph, task.fields, batch, real);
  for (const Memory& memory : model.encode(inputs))
    graph.outputs.push_back({memory.name, memory.value.value(), Merge::per_sample});
  return graph;
}

Graph build_step_graph(const Task& task, const NextToken& next, const Graph* encoder, const DecoderSizes& sizes,
                       DType real) {
  Graph graph(task.name + ".step", Mode::inference);
  std::vector<std::pair<std::string, Type>> memory;
  if (encoder)
    for (const Output& output : encoder->outputs) memory.emplace_back(output.name, encoder->type(output.value));
  DecoderStep step(graph, memory, sizes, real);
  graph.outputs.push_back({kStepScores, log_softmax(next(step)).value(), Merge::per_sample});
  return graph;
}

Graph build_prefill_graph(const Task& task, const NextToken& next, const DecoderSizes& sizes, DType real) {
  Graph graph(task.name + ".prefill", Mode::inference);
  DecoderStep step(graph, {}, sizes, real);
  next(step);
  return graph;
}

}  // namespace kb
