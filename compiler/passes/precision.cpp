// precision: takes a graph in f32. By the chosen arithmetic it leaves it as it is (f32), lets library ops round their
// inputs to tf32 (tf32), makes it f64 throughout (f64), or mixes f32 with f16 (Micikevicius et al. 2018; differentiate
// and add_optimizer scale the loss) or with bf16, which needs no loss scaling. It stands after simplify, which would
// fold its casts, and before layout, which chooses by dtype.
//
// Mixed, bf16 standing for either: library ops read and give bf16, but f32 for weight gradients (what is summed over
// workers) and for the log-sum-exps of flash attention; parameters, optimizer, reductions, norms and losses stay in
// f32; activations that a library op takes, or that live between launches because it would cost more to compute them
// again, are stored in bf16 (rounded once, all readers see the rounded value), and moved in it. Weight gradients that a
// library gives in 16 bits alone are narrowed behind layout (library_gradients).
//
// Library ops of the update, which reads what is summed over the workers, give f32. They read bf16, but f32 beside f16,
// whose least numbers are too large for them. Exact products (exact_matmul) read and give f32 in every arithmetic but
// f64.
#include <algorithm>

#include "compiler/passes/parameter_space.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/stored_values.h"
#include "graph/flash_attention.h"
#include "graph/functions.h"

namespace kb {
namespace {

bool is_exact(const Node& node) { return node.attrs.integer(kExactProduct, 0) != 0; }

// Every f32 becomes f64.
Graph widen(const Graph& from, CompileState& state) {
  Rewriter rewriter(from);
  Graph& to = rewriter.to();
  auto wide = [](DType dtype) { return dtype == DType::f32 ? DType::f64 : dtype; };
  for (int32_t n = 0; n < from.size(); ++n) {
    Node node = from.node(n);
    if (node.op == Op::variable) {
      Variable variable = *from.find_variable(node.attrs.text("name"));
      variable.type.dtype = wide(variable.type.dtype);
      rewriter.replace({n, 0}, to.find_variable(variable.name) ? to.read(variable.name) : to.add_variable(variable));
      continue;
    }
    for (Value& input : node.inputs) input = rewriter.map(input);
    if (node.attrs.has("dtype")) node.attrs.set("dtype", wide(node.attrs.dtype("dtype")));
    for (Type& type : node.outputs) type.dtype = wide(type.dtype);
    rewriter.replace_outputs(n, to.append(from, std::move(node)));
  }
  state.space.dtype = wide(state.space.dtype);
  for (Segment& segment : state.space.segments) segment.type.dtype = wide(segment.type.dtype);
  return rewriter.finish();
}

class Mixed : Rewriter {
 public:
  Mixed(const Graph& from, DType low)
      : Rewriter(from), low_(low), stored_(stored_values(from)), activation_(from.nodes.size(), 0) {
    mark_summed();
    mark_update();
  }

  Graph run() {
    for (int32_t n = 0; n < from_.size(); ++n) visit(n);
    for (const Output& output : from_.outputs) replace(output.value, as(output.value, from_.type(output.value).dtype));
    for (const StateWrite& write : from_.writes) replace(write.value, as(write.value, from_.type(write.value).dtype));
    return finish();
  }

 private:
  // Marks values that reach a WorkerSum only through point-wise ops and movement: gradients of parameters.
  void mark_summed() {
    summed_.assign(from_.nodes.size(), 0);
    for (size_t n = from_.nodes.size(); n-- > 0;) {
      const Node& node = from_.nodes[n];
      const bool through = summed_[n] && (is_pointwise(node.op) || info(node.op).cls == OpClass::movement);
      if (!through && node.op != Op::worker_sum) continue;
      for (Value input : node.inputs) summed_[static_cast<size_t>(input.node)] = 1;
    }
  }

  // Marks values that depend on a sum over the workers.
  void mark_update() {
    update_.assign(from_.nodes.size(), 0);
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      const Node& node = from_.nodes[n];
      const auto is_marked = [&](Value input) { return update_[static_cast<size_t>(input.node)] != 0; };
      update_[n] = node.op == Op::worker_sum || std::any_of(node.inputs.begin(), node.inputs.end(), is_marked);
    }
  }

  // Returns the new value for an old one, cast to `dtype`. All readers of a value share one cast.
  Value as(Value old, DType dtype) {
    Value v = map(old);
    if (to_.type(v).dtype == dtype) return v;
    auto [at, fresh] = casts_.try_emplace({v, dtype});
    if (fresh) at->second = is_parameter_part(old) ? low_parameter(old) : cast_of(old, dtype);
    return at->second;
  }

  // A reshaped value is rounded before it is reshaped: there the launch that computes it can write it.
  Value cast_of(Value old, DType dtype) {
    const Node& node = from_.node(old);
    if (node.op == Op::reshape && dtype == low_) return add(node, node.op, {as(node.inputs[0], dtype)}, node.attrs);
    return add(node, Op::cast, {map(old)}, {{"dtype", dtype}});
  }

  // A parameter is a view of the flat vector; its low-precision copy is the same view of one cast of the whole vector.
  bool is_parameter_part(Value old) const {
    const Node* node = &from_.node(old);
    while (node->op == Op::reshape || node->op == Op::slice || node->op == Op::transpose)
      node = &from_.node(node->inputs[0]);
    return is_flat_parameters(*node);
  }

  // Returns whether the node gives the flat parameters, with or without an offset; a graph's weights are views of them.
  bool is_flat_parameters(const Node& node) const {
    if (node.op != Op::variable) return is_offset_parameters(from_, node);
    const Variable* variable = from_.find_variable(node.attrs.text("name"));
    return variable->kind == VariableKind::parameter && variable->flat;
  }

  Value low_parameter(Value old) {
    const Node& node = from_.node(old);
    if (is_flat_parameters(node)) {
      if (!flat_low_.valid()) flat_low_ = add(node, Op::cast, {map(old)}, {{"dtype", low_}});
      return flat_low_;
    }
    return add(node, node.op, {low_parameter(node.inputs[0])}, node.attrs);
  }

  void visit(int32_t n) {
    const Node& node = from_.node(n);
    if (node.op == Op::variable) return copy(n);
    bool library = info(node.op).cls == OpClass::library;
    mark(n, node, library);
    const bool is_update = update_[static_cast<size_t>(n)] != 0;
    bool low = (library && !is_exact(node) && !(is_update && low_ == DType::f16)) ||
               (info(node.op).cls == OpClass::window && all_low(node)) || moves_low(node);
    Node changed = node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      DType dtype = from_.type(node.inputs[i]).dtype;
      changed.inputs[i] = as(node.inputs[i], low && dtype == DType::f32 && !is_wide_input(node.op, i) ? low_ : dtype);
    }
    if (node.op == Op::matmul && low && (summed_[static_cast<size_t>(n)] || is_update))
      changed.attrs.set("dtype", DType::f32);
    replace_outputs(n, low ? add(node, node.op, std::move(changed.inputs), std::move(changed.attrs)).node
                           : to_.append(from_, std::move(changed)));
    if (stores_low(n, node)) replace({n, 0}, add(node, Op::cast, {map({n, 0})}, {{"dtype", low_}}));
  }

  // Returns whether a library op in 16 bits reads input i in f32.
  static bool is_wide_input(Op op, size_t i) { return op == Op::flash_attention_grad && i == kFlashLogSumExp; }

  // Returns whether the node only moves elements of a value in 16 bits; its readers widen them.
  bool moves_low(const Node& node) const {
    const bool moves = node.op == Op::reshape || node.op == Op::transpose || node.op == Op::slice;
    return moves && node.type().dtype == DType::f32 && to_.type(map(node.inputs[0])).dtype == low_;
  }

  bool all_low(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value v) {
      return from_.type(v).dtype != DType::f32 || is_low_precision(to_.type(map(v)).dtype) ||
             activation_[static_cast<size_t>(v.node)];
    });
  }

  // Marks activations: values that follow from library results and samples, except through a reduction or a weight
  // gradient.
  void mark(int32_t n, const Node& node, bool library) {
    bool follows = false;
    for (Value input : node.inputs) follows |= activation_[static_cast<size_t>(input.node)] != 0;
    OpClass cls = info(node.op).cls;
    if (library) follows = !is_exact(node) && node.op != Op::conv2d_weight_grad && !summed_[static_cast<size_t>(n)];
    if (cls == OpClass::reduction || update_[static_cast<size_t>(n)]) follows = false;
    activation_[static_cast<size_t>(n)] = follows;
  }

  bool stores_low(int32_t n, const Node& node) const {
    return node.type().dtype == DType::f32 && activation_[static_cast<size_t>(n)] && stored_[static_cast<size_t>(n)];
  }

  DType low_;  // bf16 or f16
  Value flat_low_;
  std::map<std::pair<Value, DType>, Value> casts_;
  std::vector<uint8_t> stored_, activation_, summed_, update_;
};

// Permits library ops to round their inputs to tf32. Only a GPU's library does so.
Graph allow_tf32(Graph graph) {
  for (Node& node : graph.nodes)
    if (info(node.op).cls == OpClass::library && !is_exact(node)) node.attrs.set("tf32", int64_t{1});
  return graph;
}

}  // namespace

Graph apply_precision(Graph graph, CompileState& state) {
  switch (state.options.precision) {
    case Precision::f64:
      return widen(graph, state);
    case Precision::bf16:
      return Mixed(graph, DType::bf16).run();
    case Precision::f16:
      return Mixed(graph, DType::f16).run();
    case Precision::tf32:
      return allow_tf32(std::move(graph));
    case Precision::f32:
      break;
  }
  return graph;
}

}  // namespace kb
