// simplify: takes any graph; leaves an equal one without dead nodes, without two equal nodes, with constants folded and
// exact identities applied. It stands after differentiate and add_optimizer, which write naively, and before precision
// and layout, whose own rewrites must not be merged back. All rewrites are exact: nothing is reassociated, and x / c
// becomes x * (1 / c) only for powers of two. A `count` becomes an `extent`, so that no later pass meets a node with an
// input that it does not read. An `extent` is never folded, because it may grow with the minibatch.
#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "graph/interpreter.h"

namespace kb {
namespace {

constexpr int64_t kMaxFolded = 4096;  // elements of a folded constant

size_t combine(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); }

size_t hash_of(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> size_t {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Ints> || std::is_same_v<T, std::vector<double>>) {
          size_t h = v.size();
          for (auto x : v) h = combine(h, std::hash<std::decay_t<decltype(x)>>()(x));
          return h;
        } else {
          return std::hash<T>()(v);
        }
      },
      value);
}

size_t hash_of(const Node& node) {
  size_t h = static_cast<size_t>(node.op);
  for (Value input : node.inputs) h = combine(h, ValueHash()(input));
  for (const auto& [key, value] : node.attrs.items())
    h = combine(combine(h, std::hash<std::string>()(key)), hash_of(value));
  return h;
}

class Simplifier : Rewriter {
 public:
  using Rewriter::Rewriter;

  Graph run() {
    const std::vector<uint8_t> is_needed = needed();
    for (int32_t n = 0; n < from_.size(); ++n)
      if (is_needed[static_cast<size_t>(n)]) visit(n);
    return without_unused(finish());  // rewrites leave nodes behind that nothing reads
  }

 private:
  void visit(int32_t n) {
    Node node = from_.node(n);
    if (node.op == Op::variable) return copy(n);
    for (Value& input : node.inputs) input = map(input);
    if (node.outputs.size() == 1)
      if (const Value known = rewrite(node); known.valid()) return replace({n, 0}, known);
    if (node.op == Op::moments && node.attrs.ints("axes").empty()) return moments_of_each(n, std::move(node));
    replace_outputs(n, shared(node));
  }

  // Replaces moments over no axes: the mean is the element; the variance is 0, or NaN if the element is not finite.
  void moments_of_each(int32_t n, Node node) {
    Value x = node.inputs[0];
    node.outputs.resize(1);  // the nodes that are made like it have one output
    if (to_.type(x).dtype != node.type().dtype) x = make(Op::cast, {x}, {{"dtype", node.type().dtype}}, node);
    replace({n, 0}, x);
    replace({n, 1}, make(Op::sub, {x, x}, {}, node));
  }

  // Returns the node's number in the new graph: that of an equal earlier node if there is one.
  int32_t shared(const Node& node) {
    auto& bucket = known_[hash_of(node)];
    for (int32_t other : bucket) {
      const Node& there = to_.node(other);
      if (there.op == node.op && there.inputs == node.inputs && there.attrs == node.attrs) return other;
    }
    int32_t at = to_.append(from_, node);
    bucket.push_back(at);
    return at;
  }

  Value make(Op op, std::vector<Value> inputs, Attrs attrs, const Node& like) {
    return {shared({op, std::move(inputs), std::move(attrs), like.outputs, like.scope, like.frame}), 0};
  }

  Value make_constant(const Type& type, std::vector<double> values, const Node& like) {
    return make(Op::constant, {}, {{"dtype", type.dtype}, {"shape", type.shape}, {"values", std::move(values)}}, like);
  }

  // Returns the one number that fills a value, looking through broadcast and reshape; null if there is none.
  const double* splat(Value v) const {
    const Node* node = &to_.node(v);
    while (node->op == Op::broadcast || node->op == Op::reshape) node = &to_.node(node->inputs[0]);
    if (node->op != Op::constant) return nullptr;
    const auto& values = node->attrs.reals("values");
    return values.size() == 1 ? values.data() : nullptr;
  }

  bool is(Value v, double number) const {
    const double* value = splat(v);
    return value && *value == number;
  }

  // Returns a value of the new graph that equals `node`; invalid if no rewrite applies.
  Value rewrite(const Node& node) {
    if (Value folded = fold(node); folded.valid()) return folded;
    if (is_pointwise(node.op)) return pointwise(node);
    if (info(node.op).cls == OpClass::movement) return movement(node);
    if (is_fold(node.op)) return reduction(node);
    return {};
  }

  // Simplifies a reduction over axes of extent 1.
  Value reduction(const Node& node) {
    Value x = node.inputs[0];
    if (to_.type(x).elements() != node.type().elements()) return {};
    if (to_.type(x).shape == node.type().shape) return x;
    return make(Op::reshape, {x}, {{"shape", node.type().shape}, {"names", node.type().names}}, node);
  }

  Value fold(const Node& node) {
    OpClass cls = info(node.op).cls;
    if ((cls != OpClass::pointwise && cls != OpClass::movement && cls != OpClass::reduction) || node.inputs.empty())
      return {};
    if (is_pointwise(node.op) && fold_splat_allowed(node)) return fold_splats(node);
    int64_t largest = node.type().elements();
    for (Value input : node.inputs) {
      if (to_.node(input).op != Op::constant) return {};
      largest = std::max(largest, to_.type(input).elements());
    }
    if (largest > kMaxFolded || node.op == Op::broadcast || node.op == Op::reshape) return {};
    std::vector<Array> arrays;
    for (Value input : node.inputs) arrays.push_back(evaluate_node(to_.node(input), {})[0]);
    return make_constant(node.type(), evaluate_node(node, arrays)[0].data, node);
  }

  bool fold_splat_allowed(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value v) { return splat(v) != nullptr; });
  }

  // Folds a point-wise op on constants that are filled with one number each.
  Value fold_splats(const Node& node) {
    std::vector<Array> arrays;
    for (Value input : node.inputs) arrays.push_back({{to_.type(input).dtype, {}, ""}, {*splat(input)}});
    Node single = node;
    single.outputs[0].shape.clear();
    single.outputs[0].names.clear();
    return make_constant(node.type(), evaluate_node(single, arrays)[0].data, node);
  }

  Value pointwise(const Node& node) {
    const auto& in = node.inputs;
    switch (node.op) {
      case Op::mul:
        if (is(in[0], 1)) return in[1];
        if (is(in[1], 1)) return in[0];
        return {};
      case Op::sub:
        return is(in[1], 0) && !std::signbit(*splat(in[1])) ? in[0] : Value{};
      case Op::div:
        return divide(node);
      case Op::neg:
        return to_.node(in[0]).op == Op::neg ? to_.node(in[0]).inputs[0] : Value{};
      case Op::cast:
        return to_.type(in[0]).dtype == node.type().dtype ? in[0] : Value{};
      case Op::select:
        if (in[1] == in[2]) return in[1];
        if (const double* condition = splat(in[0])) return *condition != 0 ? in[1] : in[2];
        return {};
      default:
        return {};
    }
  }

  Value divide(const Node& node) {
    const double* by = splat(node.inputs[1]);
    if (!by || !is_float(node.type().dtype)) return {};
    if (*by == 1) return node.inputs[0];
    int exponent = 0;
    if (std::abs(std::frexp(*by, &exponent)) != 0.5 || std::abs(exponent) > 100) return {};
    if (node.type().dtype == DType::f16 && std::abs(exponent) > 10) return {};
    Value inverse = make_constant(node.type(), {1 / *by}, node);
    return make(Op::mul, {node.inputs[0], inverse}, {}, node);
  }

  Value movement(const Node& node) {
    Value x = node.inputs[0];
    const Node& source = to_.node(x);
    bool same_shape = to_.type(x).shape == node.type().shape;
    switch (node.op) {
      case Op::reshape:
        if (same_shape) return x;
        if (source.op != Op::reshape) return {};
        if (to_.type(source.inputs[0]).shape == node.type().shape) return source.inputs[0];
        return make(Op::reshape, {source.inputs[0]}, node.attrs, node);
      case Op::broadcast:
        return broadcast(node, same_shape);
      case Op::slice:
      case Op::pad:
        return same_shape ? x : Value{};
      case Op::transpose:
        return transpose(node);
      default:
        return {};
    }
  }

  Value broadcast(const Node& node, bool same_shape) {
    Value x = node.inputs[0];
    if (same_shape) return x;
    const Node& source = to_.node(x);
    if (source.op != Op::broadcast) return {};
    Ints axes;
    for (int64_t axis : source.attrs.ints("axes")) axes.push_back(node.attrs.ints("axes")[static_cast<size_t>(axis)]);
    return make(Op::broadcast, {source.inputs[0]}, {{"shape", node.attrs.ints("shape")}, {"axes", axes}}, node);
  }

  Value transpose(const Node& node) {
    const Ints& perm = node.attrs.ints("perm");
    Value x = node.inputs[0];
    if (std::is_sorted(perm.begin(), perm.end())) return x;
    const Node& source = to_.node(x);
    if (source.op != Op::transpose) return {};
    Ints both;
    for (int64_t axis : perm) both.push_back(source.attrs.ints("perm")[static_cast<size_t>(axis)]);
    if (std::is_sorted(both.begin(), both.end())) return source.inputs[0];
    return make(Op::transpose, {source.inputs[0]}, {{"perm", both}}, node);
  }

  std::unordered_map<size_t, std::vector<int32_t>> known_;
};

// Returns the first number that no extent of an earlier call has.
int64_t first_free_number(const Graph& graph) {
  int64_t number = 0;
  for (const Node& node : graph.nodes)
    if (node.op == Op::extent) number = std::max(number, node.attrs.integer("number") + 1);
  return number;
}

}  // namespace

void counts_to_extents(Graph& graph) {
  const int64_t first = first_free_number(graph);
  std::map<std::pair<Value, Ints>, int64_t> numbers;
  for (Node& node : graph.nodes) {
    if (node.op != Op::count) continue;
    const Value counted = node.inputs[0];
    const Ints& axes = node.attrs.ints("axes");
    const int64_t next = first + static_cast<int64_t>(numbers.size());
    const int64_t number = numbers.try_emplace({counted, axes}, next).first->second;
    Ints extents;
    for (const int64_t axis : axes) extents.push_back(graph.type(counted).shape[static_cast<size_t>(axis)]);
    node.op = Op::extent;
    node.inputs.clear();
    node.attrs = {{"dtype", node.type().dtype}, {"extents", std::move(extents)}, {"number", number}};
  }
}

Graph simplify(Graph graph, CompileState&) {
  counts_to_extents(graph);
  return Simplifier(graph).run();
}

}  // namespace kb
