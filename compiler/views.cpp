#include "compiler/views.h"

namespace kb {

ValueIds::ValueIds(const Graph& graph) {
  first_.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    first_.push_back(total_);
    total_ += static_cast<int32_t>(node.outputs.size());
  }
}

namespace {

bool is_identity(const Node& node) {
  return node.op == Op::reshape || node.op == Op::stop_gradient || node.op == Op::worker_sum;
}

// A slice is contiguous when, in the result, every axis before the cut one has extent 1, every axis after it is whole,
// and all steps are 1.
bool is_contiguous_slice(const Type& source, const Node& node) {
  if (node.op != Op::slice || node.attrs.integer(kComputed, 0) != 0) return false;
  const Ints& step = node.attrs.ints("step");
  bool whole = true;  // whether all axes inside the current one are whole
  for (size_t axis = source.shape.size(); axis-- > 0;) {
    if (step[axis] != 1) return false;
    int64_t extent = node.type().shape[axis];
    if (!whole && extent != 1) return false;
    if (extent != source.shape[axis]) whole = false;
  }
  return true;
}

int64_t slice_offset_bytes(const Type& source, const Node& node) {
  const Ints& begin = node.attrs.ints("begin");
  int64_t offset = 0;
  for (size_t axis = 0; axis < source.shape.size(); ++axis) offset = offset * source.shape[axis] + begin[axis];
  return offset * size_of(source.dtype);
}

}  // namespace

const Dims& domain_of(const Graph& graph, Value value) {
  const Node& node = graph.node(value);
  return graph.type(node.op == Op::pack_bits ? node.inputs[0] : value).shape;
}

bool is_view_op(const Graph& graph, const Node& node) {
  return is_identity(node) || (node.op == Op::slice && is_contiguous_slice(graph.type(node.inputs[0]), node));
}

Alias resolve_alias(const Graph& graph, Value value) {
  Value owner = value;
  Alias before_slice{value, 0};  // the result if the slices that follow turn out to cut a computed value
  int64_t offset = 0;
  bool sliced = false;
  while (is_view_op(graph, graph.node(owner))) {
    const Node& node = graph.node(owner);
    if (node.op == Op::slice) {
      if (!sliced) before_slice = {owner, offset};
      sliced = true;
      offset += slice_offset_bytes(graph.type(node.inputs[0]), node);
    }
    owner = node.inputs[0];
  }
  Op op = graph.node(owner).op;
  if (sliced && op != Op::variable && op != Op::input) return before_slice;
  return {owner, offset};
}

}  // namespace kb
