// A library call takes a bias inside as its epilogue, and on a CPU a relu, if nothing else reads the result before it.

#include "compiler/fuse/rules.h"
#include "compiler/views.h"
#include "graph/image_layout.h"

namespace kb {
namespace {

// Returns the axes of a broadcast's result along which its input is not repeated.
Ints varying_axes(const Graph& graph, const Node& spread) {
  Ints result;
  const Dims& shape = graph.type(spread.inputs[0]).shape;
  const Ints& axes = spread.attrs.ints("axes");
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 || spread.type().shape[static_cast<size_t>(axes[i])] == 1) result.push_back(axes[i]);
  return result;
}

// Returns the axes of a library op's result that hold its channels; {-1}, which fits no bias, for a batched matmul.
Ints channel_axes(const Node& library) {
  if (library.op == Op::matmul) return library.type().rank() == 2 ? Ints{1} : Ints{-1};
  const auto spatial = static_cast<int64_t>(library.attrs.ints("stride").size());
  return image_layout(library.type().shape, library.attrs.integer("block_out", 0), spatial).value().axes_of(1);
}

}  // namespace

Epilogues::Epilogues(Drafts& drafts, const Target& target) : drafts_(drafts), target_(target) {
  const Graph& graph = drafts.graph();
  readers_.resize(static_cast<size_t>(drafts.materialised().ids.size()));
  for (int32_t n = 0; n < graph.size(); ++n)
    for (Value input : drafts.node(n).inputs) readers_[drafts.id(input)].push_back(n);
}

void Epilogues::add(int32_t n, int32_t group) {
  Epilogue& epilogue = drafts_[group].group.epilogue;
  epilogue.result = {n, 0};
  if (drafts_.node(n).op != Op::conv2d && drafts_.node(n).op != Op::matmul) return;
  if (const int32_t sum = only_reader(n); sum >= 0 && drafts_.node(sum).op == Op::add) {
    const Value bias = bias_of(drafts_.node(sum), n);
    if (bias.valid()) {
      drafts_.absorb(sum, group);
      drafts_.add_bias(group, bias);
    }
  }
  // A GPU library's relu may lose NaN, so the launches that read the result compute the relu.
  if (target_.processor == Processor::gpu) return;
  const int32_t next = only_reader(epilogue.result.node);
  if (next < 0 || drafts_.node(next).op != Op::relu) return;
  drafts_.absorb(next, group);
  epilogue.relu = true;
}

// Returns the only node that reads the result of `n`; -1 if there is not exactly one, or if memory needs the result.
int32_t Epilogues::only_reader(int32_t n) const {
  const size_t id = drafts_.id({n, 0});
  return readers_[id].size() != 1 || drafts_.materialised().needed[id] ? -1 : readers_[id][0];
}

// Returns the bias vector, a value in memory, that `sum` adds along the channels of library result `n`; an invalid
// value if it is no such sum.
Value Epilogues::bias_of(const Node& sum, int32_t n) const {
  const Graph& graph = drafts_.graph();
  const Value other = sum.inputs[0].node == n ? sum.inputs[1] : sum.inputs[0];
  const Node& spread = graph.node(other);
  if (spread.op != Op::broadcast) return {};
  const Value bias = spread.inputs[0];
  // A bias that is computed here and now lies in no memory, or a launch behind the call writes it. That may take in
  // what reads the call's result: each would wait for the other.
  const Op op = graph.node(drafts_.owner(bias)).op;
  if (drafts_.writer_behind(bias) < 0 && op != Op::variable && op != Op::input) return {};
  // A library adds the bias in the precision of its sums, so the bias needs more than 16 bits.
  const bool aligned = target_.processor == Processor::cpu || resolve_alias(graph, bias).offset % kGpuVectorBytes == 0;
  const bool fits = aligned && !is_low_precision(graph.type(bias).dtype);
  return fits && varying_axes(graph, spread) == channel_axes(drafts_.node(n)) ? bias : Value{};
}

}  // namespace kb
