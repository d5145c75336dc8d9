#include "compiler/fuse/materialise.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/math.h"

namespace kb {

Materialised::Materialised(const Graph& graph) : graph(graph), ids(graph), alias(static_cast<size_t>(ids.size())) {
  for (std::vector<uint8_t>* flags : {&root, &hard, &needed, &cheap, &repeatable}) flags->assign(alias.size(), 0);
}

bool Materialised::readable(Value v) const {
  auto owner_id = static_cast<size_t>(ids(owner(v).owner));
  return hard[owner_id] || root[owner_id];
}

bool is_placed_concat(const Graph& graph, const Node& node) {
  if (node.op != Op::concat || node.attrs.integer(kComputed, 0) != 0) return false;
  const Dims& shape = graph.type(node.inputs[0]).shape;
  int64_t axis = node.attrs.integer("axis");
  return std::all_of(shape.begin(), shape.begin() + axis, [](int64_t extent) { return extent == 1; });
}

bool is_exchange(const Node& node) { return node.op == Op::carry || node.op == Op::all_reduce; }

bool is_zeros(const Graph& graph, Value value) {
  const Node& node = graph.node(resolve_alias(graph, value).owner);
  if (node.op != Op::constant) return false;
  const std::vector<double>& values = node.attrs.reals("values");
  return std::all_of(values.begin(), values.end(), [](double x) { return x == 0 && !std::signbit(x); });
}

namespace {

constexpr size_t kMaxLeaves = 8;     // most large inputs of one expression
constexpr int32_t kMaxNodes = 100;   // most nodes of one expression
constexpr int32_t kMaxAgain = 24;    // most nodes of an expression that is computed again instead of read
constexpr int32_t kMaxParts = 4;     // most parts of a concat that several readers compute
constexpr int64_t kMostWindows = 4;  // most windows, on average, that an element lies in which each computes again

// The cost of computing a value inside a launch instead of reading it from memory.
struct Cost {
  std::vector<int32_t> leaves;  // ids of the large values that it reads, sorted
  int32_t nodes = 0;
  int32_t parts = 1;       // the most values among which a concat in it chooses, those of concats inside counted
  bool expensive = false;  // whether it calls a math function (compiler/kernel/math.h)
  bool slow = false;       // whether it divides or takes a root, which should not be repeated for every element
};

class Chooser {
 public:
  Chooser(const Graph& graph, bool on_gpu)
      : graph_(graph),
        on_gpu_(on_gpu),
        materialised_(graph),
        readers_(materialised_.alias.size(), 0),
        costs_(materialised_.alias.size()) {}

  Materialised run() {
    for_each_value([&](Value v, const Node&) { materialised_.alias[id(v)] = resolve_alias(graph_, v); });
    for (const Node& node : graph_.nodes) mark_needs(node);
    for (const Output& output : graph_.outputs) need(output.value);
    for (const StateWrite& write : graph_.writes) need(write.value);
    for_each_value([&](Value v, const Node& node) { weigh(v, node); });
    return std::move(materialised_);
  }

 private:
  size_t id(Value v) const { return static_cast<size_t>(materialised_.ids(v)); }

  template <class F>
  void for_each_value(F f) {
    for (int32_t n = 0; n < graph_.size(); ++n) {
      const Node& node = graph_.node(n);
      for (int32_t out = 0; out < static_cast<int32_t>(node.outputs.size()); ++out) f(Value{n, out}, node);
    }
  }

  void need(Value v) {
    materialised_.needed[id(materialised_.owner(v).owner)] = 1;
    write(v);
  }

  void write(Value v) {
    const size_t owner = id(materialised_.owner(v).owner);
    if (!materialised_.hard[owner]) materialised_.root[owner] = 1;
  }

  void mark_needs(const Node& node) {
    auto number = static_cast<int32_t>(&node - graph_.nodes.data());
    OpClass cls = info(node.op).cls;
    bool placed = is_placed_concat(graph_, node);
    bool hard = cls == OpClass::library || cls == OpClass::window || cls == OpClass::reduction || is_scatter(node.op) ||
                placed || node.op == Op::variable || node.op == Op::input || node.op == Op::pack_bits ||
                is_exchange(node);
    for (int32_t out = 0; hard && out < static_cast<int32_t>(node.outputs.size()); ++out)
      materialised_.hard[id({number, out})] = 1;
    for (Value input : node.inputs) ++readers_[id(input)];
    const bool reads_memory = cls == OpClass::library || cls == OpClass::window || is_scatter(node.op);
    if ((reads_memory && !computes_inputs(node)) || is_exchange(node))
      for (Value input : node.inputs) need(input);
    if (node.op == Op::gather) need(node.inputs[0]);
    if (placed)
      for (Value input : node.inputs)
        if (!is_zeros(graph_, input)) need(input);
  }

  // Returns whether the node is a window op that may compute its inputs inside: each element lies in few windows.
  bool computes_inputs(const Node& node) const {
    if (!on_gpu_ || info(node.op).cls != OpClass::window || !node.attrs.has("stride")) return false;
    return element_count(node.attrs.ints("kernel")) <= kMostWindows * element_count(node.attrs.ints("stride"));
  }

  void add_leaf(Cost& cost, int32_t leaf) const {
    auto at = std::lower_bound(cost.leaves.begin(), cost.leaves.end(), leaf);
    if (at == cost.leaves.end() || *at != leaf) cost.leaves.insert(at, leaf);
  }

  Cost cost_of(Value v, const Node& node) const {
    Cost cost{{}, 1, 1, calls_math(node.op), info(node.op).cost == OpCost::slow};
    int64_t large = graph_.type(v).elements() / 2;
    int32_t together = static_cast<int32_t>(node.inputs.size());  // the parts of all inputs
    for (Value input : node.inputs) {
      bool is_large = graph_.type(input).elements() > large || node.op == Op::unpack_bits;
      if (materialised_.readable(input)) {
        if (is_large) add_leaf(cost, materialised_.ids(materialised_.owner(input).owner));
        continue;
      }
      const Cost& inner = costs_[id(input)];
      cost.nodes += inner.nodes;
      cost.parts = std::max(cost.parts, inner.parts);
      together += inner.parts - 1;
      cost.slow |= inner.slow;
      cost.expensive |= inner.expensive && is_large;
      if (is_large)
        for (int32_t leaf : inner.leaves) add_leaf(cost, leaf);
    }
    if (node.op != Op::concat) return cost;
    // An element of a concat reads one input: its large inputs together are read as often as one is.
    if (cost.leaves.size() > 1) cost.leaves.resize(1);
    cost.parts = together;
    return cost;
  }

  // Writes a computed value to memory if `node` is a broadcast that repeats it and computing it each time costs more.
  void write_before_broadcast(const Node& node) {
    if (node.op != Op::broadcast) return;
    Value source = node.inputs[0];
    int64_t elements = graph_.type(source).elements();
    const Cost& cost = costs_[id(source)];
    bool trivial = cost.nodes <= 2 && !cost.slow;
    if (trivial || (elements == 1 && !cost.expensive)) return;
    if (elements < node.type().elements() && !materialised_.readable(source)) write(source);
  }

  // Returns the narrower float that casts have widened to `v`, as it has fewer bytes to move; else `v` itself.
  Value narrowest(Value v) const {
    for (const Node* node = &graph_.node(v); node->op == Op::cast; node = &graph_.node(v)) {
      const DType from = graph_.type(node->inputs[0]).dtype, to = graph_.type(v).dtype;
      if (!is_float(from) || !is_float(to) || size_of(from) >= size_of(to)) break;
      v = node->inputs[0];
    }
    return v;
  }

  void weigh(Value v, const Node& node) {
    write_before_broadcast(node);
    if (computes_inputs(node))
      for (Value input : node.inputs)
        if (!materialised_.readable(input) && !materialised_.cheap[id(input)]) need(input);
    if (materialised_.hard[id(v)]) return;
    Cost cost = cost_of(v, node);
    bool leaf = info(node.op).cls == OpClass::leaf;
    bool shared = readers_[id(v)] > 1 && !leaf && graph_.type(v).elements() > 1;
    bool costly = cost.leaves.size() > 2 || (cost.expensive && !cost.leaves.empty());
    const bool wide = cost.parts > kMaxParts;
    if ((shared && (wide || (costly && !is_view_op(graph_, node)))) || cost.leaves.size() > kMaxLeaves ||
        cost.nodes > kMaxNodes) {
      const Value written = narrowest(v);
      write(written);
      if (written != v) cost = cost_of(v, node);
    }
    materialised_.cheap[id(v)] = cost.leaves.size() <= 2 && !cost.expensive && !wide && cost.nodes <= kMaxAgain;
    materialised_.repeatable[id(v)] =
        materialised_.root[id(v)] && !materialised_.needed[id(v)] && materialised_.cheap[id(v)];
    costs_[id(v)] = std::move(cost);
  }

  const Graph& graph_;
  const bool on_gpu_;
  Materialised materialised_;
  std::vector<int32_t> readers_;
  std::vector<Cost> costs_;
};

}  // namespace

Materialised choose_materialised(const Graph& graph, bool on_gpu) { return Chooser(graph, on_gpu).run(); }

}  // namespace kb
