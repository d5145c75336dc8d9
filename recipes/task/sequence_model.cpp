#include "recipes/task/sequence_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/functions.h"

namespace kb {

DecoderStep::DecoderStep(Graph& graph, const std::vector<std::pair<std::string, Type>>& memory, int64_t rows,
                         int64_t steps, int64_t vocabulary, DType real)
    : graph_(graph),
      rows_(rows),
      steps_(steps),
      real_(real),
      tokens_(index_input(graph, kStepTokens, {rows, 1}, vocabulary)),
      place_(index_input(graph, kStepPlace, {1}, steps)),
      parents_(index_input(graph, kStepParents, {rows}, rows)) {
  for (const auto& [name, type] : memory) {
    Dims shape = type.shape;
    shape.at(0) = rows;
    memory_.push_back({name, input(graph, name, type.dtype, shape)});
  }
}

Tensor DecoderStep::seen() const { return broadcast_axes(place_ + 1.0, {rows_}, {0}); }

Tensor DecoderStep::memory(const std::string& name) const {
  const auto found = std::ranges::find(memory_, name, &Memory::name);
  if (found == memory_.end())
    throw Error(fmt::format("the step of a decoder asks for '{}': expected what its encoder gives", name));
  return found->value;
}

Tensor DecoderStep::kept(const std::string& name, Tensor value) {
  Dims shape = value.shape();
  shape.at(1) = steps_;
  const Tensor before = cache(graph_, name, {value.dtype(), shape, ""});
  Ints axes;
  for (int64_t axis = 0; axis < value.rank(); ++axis) axes.push_back(axis);
  const Tensor places = broadcast_axes(iota(graph_, DType::i32, steps_), shape, {1});
  const Tensor is_now = eq(places, broadcast_axes(reshape(place_, {}), shape, {}));
  const Tensor all = select(is_now, broadcast_axes(value, shape, axes), gather(before, parents_));
  write_cache(before, all);
  return all;
}

Graph build_encoder_graph(const Task& task, const SequenceModel& model, BatchShape batch, DType real) {
  Graph graph(task.name + ".encode", Mode::inference);
  Inputs inputs(graph, task.fields, batch, real);
  for (const Memory& memory : model.encode(inputs))
    graph.outputs.push_back({memory.name, memory.value.value(), Merge::per_sample});
  return graph;
}

Graph build_step_graph(const Task& task, const SequenceModel& model, const Graph& encoder, int64_t rows, int64_t steps,
                       DType real) {
  Graph graph(task.name + ".step", Mode::inference);
  std::vector<std::pair<std::string, Type>> memory;
  for (const Output& output : encoder.outputs) memory.emplace_back(output.name, encoder.type(output.value));
  DecoderStep step(graph, memory, rows, steps, model.pairs->target.tokenizer->vocabulary().size(), real);
  graph.outputs.push_back({kStepScores, log_softmax(model.step(step)).value(), Merge::per_sample});
  return graph;
}

}  // namespace kb
