#include "graph/index_range.h"

#include <algorithm>
#include <cmath>

namespace kb {
namespace {

// The most nodes that one answer looks at. An operand that is used twice is looked at twice.
constexpr int kMostVisits = 256;

IndexRange of_dtype(DType dtype) {
  if (is_float(dtype)) return {INT64_MIN, INT64_MAX};
  return {least(dtype), greatest(dtype)};
}

IndexRange both(IndexRange a, IndexRange b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }
bool holds(IndexRange outer, IndexRange inner) { return outer.least <= inner.least && inner.most <= outer.most; }

IndexRange of_numbers(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {static_cast<int64_t>(*least), static_cast<int64_t>(*most)};
}

class Ranges {
 public:
  explicit Ranges(const Graph& graph) : graph_(graph) {}

  IndexRange of(Value value) {
    const IndexRange whole = of_dtype(graph_.type(value).dtype);
    if (is_float(graph_.type(value).dtype) || ++visits_ > kMostVisits) return whole;
    const IndexRange found = of_node(value, whole);
    return holds(whole, found) ? found : whole;  // a number that the dtype does not hold wraps
  }

 private:
  IndexRange of_node(Value value, IndexRange whole) {
    const Node& node = graph_.node(value);
    const auto in = [&](size_t i) { return of(node.inputs[i]); };
    const auto extent = [&](size_t i, int64_t axis) {
      return graph_.type(node.inputs[i]).shape[static_cast<size_t>(axis)];
    };
    switch (node.op) {
      case Op::input:
        return node.attrs.has("below") ? IndexRange{0, node.attrs.integer("below") - 1} : whole;
      case Op::constant:
        return node.attrs.reals("values").empty() ? whole : of_numbers(node.attrs.reals("values"));
      case Op::iota:
        return {0, node.type().shape[0] - 1};
      case Op::argmax:
        return {0, extent(0, node.attrs.integer("axis")) - 1};
      case Op::max_pool:
        return value.out == 1 ? IndexRange{0, element_count(node.attrs.ints("kernel")) - 1} : in(0);
      case Op::index_order: {
        const int64_t last = graph_.type(node.inputs[0]).elements() - (value.out == 0 ? 1 : 0);
        return {0, last};
      }
      case Op::cast:
        return is_float(graph_.type(node.inputs[0]).dtype) ? whole : in(0);
      case Op::broadcast:
      case Op::reshape:
      case Op::transpose:
      case Op::slice:
      case Op::stop_gradient:
      case Op::reduce_max:
      case Op::reduce_min:
        return in(0);
      case Op::add:
      case Op::sub:
      case Op::maximum:
      case Op::minimum:
        return of_two(node.op, in(0), in(1));
      case Op::select:
        return both(in(1), in(2));
      case Op::concat:
        return of_parts(node);
      case Op::pad: {
        const auto filler = static_cast<int64_t>(node.attrs.real("value"));
        return both(in(0), {filler, filler});
      }
      case Op::gather:
      case Op::crop:
      case Op::take_at_index:
        return both(in(0), {0, 0});
      default:
        return whole;
    }
  }

  static IndexRange of_two(Op op, IndexRange a, IndexRange b) {
    if (op == Op::add) return {a.least + b.least, a.most + b.most};
    if (op == Op::sub) return {a.least - b.most, a.most - b.least};
    if (op == Op::maximum) return {std::max(a.least, b.least), std::max(a.most, b.most)};
    return {std::min(a.least, b.least), std::min(a.most, b.most)};
  }

  IndexRange of_parts(const Node& node) {
    IndexRange range = of(node.inputs[0]);
    for (size_t i = 1; i < node.inputs.size(); ++i) range = both(range, of(node.inputs[i]));
    return range;
  }

  const Graph& graph_;
  int visits_ = 0;
};

}  // namespace

IndexRange index_range(const Graph& graph, Value value) { return Ranges(graph).of(value); }

bool indexes_within(const Graph& graph, Value indices, int64_t rows) {
  return holds({0, rows - 1}, index_range(graph, indices));
}

int64_t declared_below(const Graph& graph, Value value) {
  for (;;) {
    const Node& node = graph.node(value);
    switch (node.op) {
      case Op::input:
        return node.attrs.integer("below", 0);
      case Op::reshape:
      case Op::broadcast:
      case Op::transpose:
      case Op::slice:
      case Op::stop_gradient:
      case Op::gather:
        value = node.inputs[0];
        break;
      default:
        return 0;
    }
  }
}

}  // namespace kb
