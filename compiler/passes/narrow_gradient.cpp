// narrow_gradient: takes a graph in physical layouts; leaves one in which the update of a GPU's step of one worker
// reads the gradients of filters in 16 bits, as library_gradients has left them. They make up the beginning of the flat
// gradient (add_optimizer), which becomes a vector of 16 bits that their launches write into; the update reads it and
// the vector of all others. Without the pass a launch a filter bank widens the gradients, and the update reads twice
// the bytes. The pass stands after layout, which leaves these gradients without a transposition, and before
// place_all_reduce: what is summed over workers is wide.
#include "compiler/fuse/materialise.h"
#include "compiler/passes/flat_gradient.h"
#include "compiler/passes/nodes.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace kb {
namespace {

class NarrowGradient : Rewriter {
 public:
  NarrowGradient(const Graph& from, int32_t flat) : Rewriter(from), flat_(flat) {}

  Graph run() {
    const std::vector<Value>& parts = from_.node(flat_).inputs;
    size_t count = 0, gradients = 0;  // parts that are narrow or zeros; those that are narrow
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool narrow = narrow_source(parts[i]).valid();
      if (!narrow && !is_zeros(from_, parts[i])) break;
      gradients += narrow;
      if (narrow) count = i + 1;
    }
    if (gradients < 2) return from_;
    for (int32_t n = 0; n < from_.size(); ++n) n == flat_ ? split(count) : copy(n);
    return without_unused(finish());
  }

 private:
  // Returns the 16-bit value that a part is the widened and moved form of; an invalid value if it is none.
  Value narrow_source(Value part) const {
    const Node& node = behind_moves(part);
    if (node.op != Op::cast || !is_low_precision(from_.type(node.inputs[0]).dtype)) return {};
    return info(behind_moves(node.inputs[0]).op).cls == OpClass::library ? node.inputs[0] : Value{};
  }

  const Node& behind_moves(Value v) const {
    while (moves(from_.node(v))) v = from_.node(v).inputs[0];
    return from_.node(v);
  }

  static bool moves(const Node& node) {
    return node.op == Op::reshape || node.op == Op::transpose || node.op == Op::worker_sum;
  }

  // Returns the part in 16 bits: the same moves, without the sum over the only worker.
  Value narrowed(Value part, DType dtype) {
    const Node& node = from_.node(part);
    if (is_zeros(from_, part)) return constant_zeros(to_, dtype, from_.type(part).shape);
    if (node.op == Op::cast) return map(node.inputs[0]);
    const Value inner = narrowed(node.inputs[0], dtype);
    return node.op == Op::worker_sum ? inner : add(node, node.op, {inner}, node.attrs);
  }

  // Replaces the flat gradient by one that is computed from its two parts in memory.
  void split(size_t count) {
    const Node& flat = from_.node(flat_);
    const DType low = from_.type(narrow_source(flat.inputs[0])).dtype;
    std::vector<Value> narrow, wide;
    for (size_t i = 0; i < flat.inputs.size(); ++i) {
      if (i < count)
        narrow.push_back(narrowed(flat.inputs[i], low));
      else
        wide.push_back(map(flat.inputs[i]));
    }
    const Attrs leading{{"axis", int64_t{0}}};
    const Value filters = add(flat, Op::concat, narrow, leading);
    std::vector<Value> both{add(flat, Op::cast, {filters}, {{"dtype", flat.type().dtype}})};
    if (!wide.empty()) both.push_back(add(flat, Op::concat, wide, leading));
    replace({flat_, 0}, add(flat, Op::concat, both, {{"axis", int64_t{0}}, {kComputed, int64_t{1}}}));
  }

  const int32_t flat_;
};

}  // namespace

bool reads_narrow_gradients(const CompileOptions& options) {
  return options.target.processor == Processor::gpu && options.workers.total() == 1 && !options.groups.empty();
}

Graph narrow_gradient(Graph graph, CompileState& state) {
  if (!reads_narrow_gradients(state.options)) return graph;
  const int32_t flat = find_flat_gradient(graph);
  return flat < 0 ? graph : NarrowGradient(graph, flat).run();
}

}  // namespace kb
