#include "compiler/lower/lower.h"

#include <algorithm>

#include "compiler/lower/classes.h"
#include "graph/formula.h"

namespace kb {
namespace {

int64_t formula_ops(const Formula& formula) {
  int64_t count = formula.kind == Formula::Kind::call ? 1 : 0;
  for (const FormulaRef& arg : formula.args) count += formula_ops(*arg);
  return count;
}

// Counts two operations for each pair of factors. A gradient of filters has a factor for each pixel.
int64_t product_flops(const Graph& graph, const Node& node) {
  const Type& first = graph.type(node.inputs[0]);
  const int64_t depth = node.op == Op::conv2d_weight_grad ? first.elements() / first.shape.back() : first.shape.back();
  return 2 * node.type().elements() * depth;
}

// Returns the number of operations of a group: one for each element of a point-wise node (a composite: for each op of
// its formula), each input element of a reduction (moments: three), each tap of a pooling window, and each element of
// the updates of a scatter or of the last input of another window op; two for each product of matrices' factors.
int64_t count_flops(const Graph& graph, const Group& group) {
  int64_t flops = 0;
  for (const int32_t n : group.nodes) {
    const Node& node = graph.node(n);
    if (n == group.product) {
      flops += product_flops(graph, node);
    } else if (is_pointwise(node.op)) {
      const FormulaRef formula = formula_of(node.op);
      flops += node.type().elements() * (formula ? formula_ops(*formula) : 1);
    } else if (info(node.op).cls == OpClass::reduction) {
      flops += graph.type(node.inputs[0]).elements() * (node.op == Op::moments ? 3 : 1);
    } else if (node.op == Op::max_pool || node.op == Op::sum_pool) {
      flops += node.type().elements() * element_count(node.attrs.ints("kernel"));
    } else if (node.op == Op::scatter_add) {
      flops += graph.type(node.inputs[1]).elements();
    } else if (info(node.op).cls == OpClass::window) {
      flops += graph.type(node.inputs.back()).elements();
    }
  }
  return flops;
}

Lowered lower_class(const Graph& graph, const Group& group, const Target& target) {
  switch (group.cls) {
    case FusionClass::pointwise:
      if (group.product < 0) return lower_pointwise(graph, group, target);
      if (graph.node(group.product).op == Op::conv2d_weight_grad) return lower_product_weights(graph, group, target);
      return lower_product(graph, group, target);
    case FusionClass::window:
    case FusionClass::copy:
    case FusionClass::carry:
      return lower_pointwise(graph, group, target);
    case FusionClass::row_reduce:
    case FusionClass::column_reduce:
    case FusionClass::full_reduce:
      return lower_reduce(graph, group, target);
    case FusionClass::order:
      return lower_order(graph, group, target);
    case FusionClass::scatter:
      return lower_scatter(graph, group, target);
    case FusionClass::library:
    case FusionClass::exchange:
    case FusionClass::wait:
      break;
  }
  throw InternalError("lower: a library call or an exchange has no kernel");
}

// Returns whether a point-wise group writes large tensors of 32-bit numbers, in rows that a block of `target` covers at
// once. A thread stores 32 bytes in two halves, each of which fills only half of the memory's units of 32 bytes.
bool stores_words(const Graph& graph, const Group& group, int64_t row, const Target& target) {
  if (group.cls != FusionClass::pointwise || group.product >= 0 || row > target.lanes * target.block_threads)
    return false;
  return std::any_of(group.outputs.begin(), group.outputs.end(), [&](Value v) {
    const Type& type = graph.type(v);
    return size_of(type.dtype) == 4 && 2 * type.elements() >= element_count(group.domain);
  });
}

// Returns the target with the lanes that fit the group. On a GPU a vector is 16 bytes of 16-bit data, or two loads of
// 16 bytes, if rows are whole vectors of that many elements; else, or if stores_words is true, it is half as long. A
// group that packs bits has eight elements to a byte in any case.
Target with_lanes(const Graph& graph, const Group& group, const Target& target) {
  Target own = target;
  if (target.processor == Processor::cpu) return own;
  const bool packs = std::any_of(group.outputs.begin(), group.outputs.end(),
                                 [&](Value v) { return graph.node(v).op == Op::pack_bits; });
  int64_t widest = 1;
  for (const std::vector<Value>* values : {&group.inputs, &group.outputs})
    for (const Value v : *values) widest = std::max(widest, size_of(graph.type(v).dtype));
  const auto last = std::find_if(group.domain.rbegin(), group.domain.rend(), [](int64_t extent) { return extent > 1; });
  const bool whole = last != group.domain.rend() && *last % (2 * target.lanes) == 0;
  const auto is_wide = [&] { return packs || (widest <= 4 && !stores_words(graph, group, *last, target)); };
  if (whole && is_wide()) own.lanes = 2 * target.lanes;
  return own;
}

}  // namespace

Lowered lower(const Graph& graph, const Group& group, const Target& all) {
  const Target target = with_lanes(graph, group, all);
  Lowered lowered = lower_class(graph, group, target);
  share_literals(lowered, target.lanes);
  lowered.flops = count_flops(graph, group);
  return lowered;
}

}  // namespace kb
