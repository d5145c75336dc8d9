// align_rows: takes a graph whose dtypes are chosen; leaves one in which the rows of a GPU's large 16-bit matrices
// begin at multiples of 128 bytes. Tensor cores are fed 16 bytes at a time, and a matrix whose rows begin elsewhere
// goes to cuBLASLt's slow kernels: with GPT-2's vocabulary of 50,257 the three products of the output layer take 118 ms
// on an H200 without this pass, and 19 ms with it (65,536 tokens, cuBLASLt 13.1). The pass stands after precision,
// because it applies to 16 bits alone.
//
// A product is computed with a longer row, whose last columns belong to nothing ("wide"). Point-wise ops behind it are
// computed in the wide form too, so that they share launches as before; a reduction over rows reads the neutral element
// in the last columns, a product reads zeros there; all other nodes read a slice. Only zeros are added to the sums.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "compiler/fuse/domain.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "graph/rounding.h"

namespace kb {
namespace {

constexpr int64_t kLeast = 1024;   // elements of the shortest row that is made longer
constexpr int64_t kUnaligned = 8;  // elements in 16 bytes
constexpr int64_t kAligned = 64;   // elements in 128 bytes

bool grows(int64_t extent) { return extent >= kLeast && extent % kUnaligned != 0; }
int64_t grown(int64_t extent) { return round_up(extent, kAligned); }

Dims with(Dims shape, size_t axis, int64_t extent) {
  shape[axis] = extent;
  return shape;
}

// Tells which extents of a product grow: that of its rows (m), its columns (n) or its sums (k). One that is not along
// any operand's or the result's rows in memory stays as it is.
struct Growth {
  bool transpose_a = false, transpose_b = false;
  bool m = false, n = false, k = false;
};

Growth growth(const Graph& graph, const Node& node) {
  if (node.op != Op::matmul || !is_low_precision(graph.type(node.inputs[0]).dtype)) return {};
  const Dims &a = graph.type(node.inputs[0]).shape, &y = node.type().shape;
  const size_t last = y.size() - 1;
  Growth g{.transpose_a = node.attrs.integer("transpose_a") != 0,
           .transpose_b = node.attrs.integer("transpose_b") != 0};
  g.m = g.transpose_a && grows(y[last - 1]);
  g.n = grows(y[last]);
  g.k = (!g.transpose_a || g.transpose_b) && grows(a[g.transpose_a ? last - 1 : last]);
  return g;
}
bool is_grown(const Growth& g) { return static_cast<int>(g.m) + static_cast<int>(g.n) + static_cast<int>(g.k) == 1; }

using Values = std::unordered_map<Value, Value, ValueHash>;

class AlignRows : Rewriter {
 public:
  using Rewriter::Rewriter;

  Graph run() {
    for (int32_t n = 0; n < from_.size(); ++n) visit(n);
    for (const Output& output : from_.outputs) narrow(output.value);
    for (const StateWrite& write : from_.writes) narrow(write.value);
    return without_unused(finish());
  }

 private:
  void visit(int32_t n) {
    const Node& node = from_.node(n);
    if (is_grown(growth(from_, node))) return product(node, {n, 0});
    const bool reads_wide = std::ranges::any_of(node.inputs, [&](Value v) { return is_wide(v); });
    if (reads_wide && keeps_rows(node)) {
      wide_.insert_or_assign({n, 0}, widened(node));
    } else if (reads_wide && (is_fold(node.op) || node.op == Op::argmax)) {
      reduction(node, {n, 0});
    } else {
      for (const Value input : node.inputs) narrow(input);
      copy(n);
    }
  }

  bool is_wide(Value v) const { return wide_.contains(v); }
  int64_t row(Value v) const { return from_.type(v).shape.back(); }

  // Returns whether each row of the result depends on the rows of the inputs at the same columns.
  bool keeps_rows(const Node& node) const {
    if (is_pointwise(node.op) || node.op == Op::stop_gradient) return true;
    return node.op == Op::reshape && !node.type().shape.empty() && node.type().shape.back() == row(node.inputs[0]);
  }

  // ---- the forms of a value

  // Makes sure that the value has its own shape in the new graph.
  void narrow(Value v) {
    if (has(v)) return;
    replace(v, cut(from_.node(v), wide_.at(v), from_.type(v).shape));
  }

  // Returns the value with wide rows, whose last columns have any content.
  Value wide(Value v) {
    if (const auto known = wide_.find(v); known != wide_.end()) return known->second;
    if (const auto known = made_wide_.find(v); known != made_wide_.end()) return known->second;
    const Node& node = from_.node(v);
    const bool splat = node.op == Op::constant && node.attrs.reals("values").size() == 1;
    const bool simple = splat || node.op == Op::iota || node.op == Op::broadcast || keeps_rows(node);
    const Value made = simple ? widened(node) : padded(v, from_.type(v).shape.size() - 1);
    made_wide_.insert_or_assign(v, made);
    return made;
  }

  // Repeats a node over wide rows.
  Value widened(const Node& node) {
    const Dims& shape = node.type().shape;
    Attrs attrs = node.attrs;
    if (attrs.has("shape")) attrs.set("shape", with(shape, shape.size() - 1, grown(shape.back())));
    std::vector<Value> inputs;
    for (const Value input : node.inputs)
      inputs.push_back(varies_along_rows(node, input) ? wide(input) : narrowed(input));
    return add(node, node.op, std::move(inputs), std::move(attrs));
  }
  bool varies_along_rows(const Node& node, Value input) const {
    if (node.op != Op::broadcast) return true;
    const Ints& axes = node.attrs.ints("axes");
    const auto last = static_cast<int64_t>(node.type().shape.size()) - 1;
    return !axes.empty() && axes.back() == last && row(input) != 1;
  }
  Value narrowed(Value v) {
    narrow(v);
    return map(v);
  }

  // Returns the value with zeros behind one axis.
  Value padded(Value v, size_t axis) {
    auto& known = padded_[axis];
    if (const auto found = known.find(v); found != known.end()) return found->second;
    const Dims& shape = from_.type(v).shape;
    const Ints none(shape.size(), 0);
    const Value made = add(from_.node(v), Op::pad, {narrowed(v)},
                           {{"low", none},
                            {"high", with(none, axis, grown(shape[axis]) - shape[axis])},
                            {"interior", none},
                            {"value", 0.0}});
    known.insert_or_assign(v, made);
    return made;
  }

  // Returns a wide value with `filling` in its last columns.
  Value filled(const Node& like, Value v, double filling) {
    const Type type = to_.type(wide_.at(v));
    const auto last = static_cast<int64_t>(type.shape.size()) - 1;
    const auto all = [&](DType dtype, double number) {
      return add(like, Op::constant, {},
                 {{"dtype", dtype}, {"shape", type.shape}, {"values", std::vector<double>{number}}});
    };
    const Value columns = add(like, Op::iota, {}, {{"dtype", DType::i32}, {"shape", Dims{type.shape.back()}}});
    const Value column = add(like, Op::broadcast, {columns}, {{"axes", Ints{last}}, {"shape", type.shape}});
    const Value inside = add(like, Op::lt, {column, all(DType::i32, static_cast<double>(row(v)))}, {});
    return add(like, Op::select, {inside, wide_.at(v), all(type.dtype, filling)}, {});
  }
  Value with_zeros(Value v) {
    if (const auto known = with_zeros_.find(v); known != with_zeros_.end()) return known->second;
    return with_zeros_[v] = filled(from_.node(v), v, 0);
  }

  // ---- nodes

  static double neutral(Op op) {
    switch (op == Op::argmax ? Neutral::lowest : info(op).neutral) {
      case Neutral::one:
        return 1;
      case Neutral::lowest:
        return -std::numeric_limits<double>::infinity();
      case Neutral::highest:
        return std::numeric_limits<double>::infinity();
      default:
        return 0;
    }
  }

  void reduction(const Node& node, Value result) {
    const Value x = node.inputs[0];
    const bool over_rows = std::ranges::count(reduced_axes(node), std::ssize(from_.type(x).shape) - 1) > 0;
    if (over_rows && is_float(from_.type(x).dtype))
      replace(result, add(node, node.op, {filled(node, x, neutral(node.op))}, node.attrs));
    else if (over_rows)
      replace(result, add(node, node.op, {narrowed(x)}, node.attrs));
    else
      wide_.insert_or_assign(result, add(node, node.op, {wide(x)}, node.attrs));
  }

  // Returns an operand of a product, with zeros behind each row or below each column.
  Value operand(Value v, bool rows_grow, bool columns_grow) {
    const size_t rank = from_.type(v).shape.size();
    if (columns_grow) return padded(v, rank - 2);
    if (!rows_grow) return narrowed(v);
    return is_wide(v) ? with_zeros(v) : padded(v, rank - 1);
  }

  void product(const Node& node, Value result) {
    const Growth g = growth(from_, node);
    const Value left = operand(node.inputs[0], g.transpose_a ? g.m : g.k, g.transpose_a && g.k);
    const Value right = operand(node.inputs[1], g.transpose_b ? g.k : g.n, g.transpose_b ? g.n : g.k);
    const Value made = add(node, Op::matmul, {left, right}, node.attrs);
    if (g.n)
      wide_.insert_or_assign(result, made);
    else
      replace(result, g.m ? cut(node, made, node.type().shape) : made);
  }
  Value cut(const Node& like, Value x, const Dims& shape) {
    return add(like, Op::slice, {x},
               {{"begin", Ints(shape.size(), 0)}, {"end", shape}, {"step", Ints(shape.size(), 1)}});
  }

  Values wide_;                                // values of the old graph that exist in the wide form
  Values made_wide_;                           // further ones, which have been made wide beside them
  Values with_zeros_;                          // of wide_: with zeros in the last columns
  std::unordered_map<size_t, Values> padded_;  // by the axis that has grown
};

}  // namespace

Graph align_rows(Graph graph, CompileState& state) {
  const bool any = std::ranges::any_of(graph.nodes, [&](const Node& node) { return is_grown(growth(graph, node)); });
  return any && state.options.target.processor == Processor::gpu ? AlignRows(graph).run() : graph;
}

}  // namespace kb
