#include "compiler/passes/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/functions.h"

namespace kb {
namespace {

bool moves_alone(const Node& node) {
  const OpClass cls = info(node.op).cls;
  return cls == OpClass::movement || cls == OpClass::marker;
}

Finiteness worst_of(const std::vector<double>& constants) {
  Finiteness worst = Finiteness::finite;
  for (const double value : constants)
    if (!std::isfinite(value))
      worst = std::max(worst, std::isnan(value) ? Finiteness::not_a_number : Finiteness::infinite);
  return worst;
}

// 0 times a finite number is 0; 0 times an infinity or a NaN is NaN.
Tensor probe_of(const Tensor& x) {
  const Tensor zero = x * 0.0;
  return max(select(ne(x, x), 2.0, select(ne(zero, zero), 1.0, 0.0)));
}

// Finds the way back from a result that is not finite.
class Probing {
 public:
  Probing(const Probes& probes, std::span<const double> found)
      : graph_(probes.graph), worst_(graph_.nodes.size(), Finiteness::finite), forward_(graph_.nodes.size(), 0) {
    for (size_t i = 0; i < found.size(); ++i) {
      Finiteness& worst = worst_[static_cast<size_t>(probes.values[i].node)];
      worst = std::max(worst, static_cast<Finiteness>(static_cast<int>(found[i])));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op == Op::constant) worst_[n] = worst_of(node.attrs.reals("values"));
      if (!moves_alone(node)) continue;
      for (const Value input : node.inputs) worst_[n] = std::max(worst_[n], worst(input));
    }
    mark_forward();
  }

  std::string text() {
    for (const Output& output : graph_.outputs)
      if (worst(output.value) != Finiteness::finite) return text_of(output.value.node);
    return "";
  }

 private:
  const Node& node(int32_t n) const { return graph_.node(n); }
  Finiteness worst(int32_t n) const { return worst_[static_cast<size_t>(n)]; }
  Finiteness worst(Value value) const { return worst(value.node); }

  // Marks the nodes that the loss depends on; the rest belong to the backward pass.
  void mark_forward() {
    for (const Output& output : graph_.outputs)
      if (output.kind == OutputKind::loss) forward_[static_cast<size_t>(output.value.node)] = 1;
    for (size_t n = graph_.nodes.size(); n-- > 0;)
      if (forward_[n] != 0)
        for (const Value input : graph_.nodes[n].inputs) forward_[static_cast<size_t>(input.node)] = 1;
  }

  // Returns the input that is to blame: the worst one, and of several the first that was computed. -1: all are finite.
  int32_t back(int32_t n) const {
    int32_t to_blame = -1;
    for (const Value input : node(n).inputs) {
      if (worst(input) == Finiteness::finite) continue;
      const bool is_worse = to_blame < 0 || worst(input) > worst(to_blame);
      if (is_worse || (worst(input) == worst(to_blame) && input.node < to_blame)) to_blame = input.node;
    }
    return to_blame;
  }

  std::string text_of(int32_t result) const {
    int32_t maker = result, first_nan = -1;
    for (int32_t at = result; at >= 0; at = back(at)) {
      maker = at;
      if (worst(at) == Finiteness::not_a_number && !moves_alone(node(at))) first_nan = at;
    }
    const Node& made = node(maker);
    if (made.op == Op::variable || made.op == Op::input)
      return fmt::format("{} \"{}\" is not finite", made.op == Op::input ? "the input" : "the variable",
                         made.attrs.text("name"));
    if (first_nan == maker) return fmt::format("{} makes NaN of finite inputs", described(maker));
    std::string text = fmt::format("{} makes an infinity of finite inputs", described(maker));
    if (first_nan >= 0) text += fmt::format("; {} makes NaN of that", described(first_nan));
    return text;
  }

  std::string described(int32_t n) const {
    const std::string &scope = graph_.scopes[static_cast<size_t>(node(n).scope)], place = graph_.place(node(n));
    return fmt::format("{}{}{}{}, {},", name(node(n).op), scope.empty() ? "" : " in " + scope,
                       place.empty() ? "" : " at " + place, forward_[static_cast<size_t>(n)] != 0 ? "" : " (backward)",
                       to_string(node(n).type()));
  }

  const Graph& graph_;
  std::vector<Finiteness> worst_;
  std::vector<uint8_t> forward_;
};

}  // namespace

std::string probe_name(size_t number) { return fmt::format("probe.{}", number); }

Probes find_probes(Graph graph) {
  Probes probes{std::move(graph), {}};
  for (int32_t n = 0; n < probes.graph.size(); ++n) {
    const Node& node = probes.graph.node(n);
    if (moves_alone(node) || node.op == Op::constant) continue;
    for (int32_t out = 0; out < static_cast<int32_t>(node.outputs.size()); ++out)
      if (is_float(node.type(out).dtype) && node.type(out).elements() > 0) probes.values.push_back({n, out});
  }
  return probes;
}

Graph with_probes(const Probes& probes) {
  Graph graph = probes.graph;
  graph.outputs.clear();
  graph.writes.clear();
  for (size_t i = 0; i < probes.values.size(); ++i) {
    const Node& probed = probes.graph.node(probes.values[i]);
    const Origin origin(probes.graph, probed.scope, probed.frame);
    graph.outputs.push_back({probe_name(i), probe_of(Tensor(graph, probes.values[i])).value(), Merge::first});
  }
  return graph;
}

std::string origin_of_not_finite(const Probes& probes, std::span<const double> found) {
  return Probing(probes, found).text();
}

}  // namespace kb
