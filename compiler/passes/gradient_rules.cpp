#include "compiler/passes/gradient_rules.h"

#include <algorithm>
#include <array>

#include "compiler/passes/passes.h"
#include "graph/flash_attention.h"
#include "graph/functions.h"
#include "graph/index_range.h"

namespace kb {
namespace {

Tensor emit(const BackwardNode& node, Op op, const std::vector<Tensor>& inputs, Attrs attrs) {
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(input.value());
  return {node.graph(), node.graph().add(op, std::move(values), std::move(attrs))};
}

Tensor as(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

Ints all_axes_but(int64_t rank, const Ints& axes) {
  Ints rest;
  for (int64_t a = 0; a < rank; ++a)
    if (std::ranges::count(axes, a) == 0) rest.push_back(a);
  return rest;
}

// Spreads the result of reducing x over `axes` to x's shape again.
Tensor spread(const Tensor& reduced, const Tensor& x, const Ints& axes) {
  return broadcast_axes(reduced, x.shape(), all_axes_but(x.rank(), axes));
}

// --- movement

void broadcast_rule(const BackwardNode& node) {
  const Tensor x = node.in(0), dy = node.gradient();
  const Ints& to = node.attrs().ints("axes");
  Ints axes = all_axes_but(dy.rank(), to);
  for (size_t i = 0; i < to.size(); ++i) {
    if (x.shape()[i] != dy.size(to[i])) axes.push_back(to[i]);
  }
  std::sort(axes.begin(), axes.end());
  const Tensor dx = axes.empty() ? dy : sum_of_product(dy, axes);
  node.give(0, dx.shape() == x.shape() ? dx : reshape(dx, x.shape()));
}

void reshape_rule(const BackwardNode& node) { node.give(0, reshape(node.gradient(), node.in(0).shape())); }

void transpose_rule(const BackwardNode& node) {
  const Ints& perm = node.attrs().ints("perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  node.give(0, transpose(node.gradient(), inverse));
}

// The gradient is zero where the slice took nothing: before it, after it and between its steps.
void slice_rule(const BackwardNode& node) {
  const Ints &begin = node.attrs().ints("begin"), &step = node.attrs().ints("step");
  const Dims &from = node.in(0).shape(), &to = node.out().shape();
  Ints high, interior;
  for (size_t a = 0; a < begin.size(); ++a) {
    const int64_t covered = to[a] == 0 ? 0 : (to[a] - 1) * step[a] + 1;
    high.push_back(from[a] - begin[a] - covered);
    interior.push_back(step[a] - 1);
  }
  node.give(0, pad(node.gradient(), begin, high, 0, interior));
}

void pad_rule(const BackwardNode& node) {
  const Ints &low = node.attrs().ints("low"), &interior = node.attrs().ints("interior");
  const Dims& from = node.in(0).shape();
  Ints end, step;
  for (size_t a = 0; a < low.size(); ++a) {
    step.push_back(interior[a] + 1);
    end.push_back(from[a] == 0 ? low[a] : low[a] + (from[a] - 1) * step[a] + 1);
  }
  node.give(0, slice(node.gradient(), low, end, step));
}

void concat_rule(const BackwardNode& node) {
  const int64_t axis = node.attrs().integer("axis");
  int64_t begin = 0;
  for (size_t i = 0; i < node.inputs(); ++i) {
    const int64_t end = begin + node.in(i).size(axis);
    if (node.needs(i)) node.give(i, slice(node.gradient(), axis, begin, end));
    begin = end;
  }
}

// --- reductions

void sum_rule(const BackwardNode& node) {
  node.give(0, spread(node.gradient(), node.in(0), node.attrs().ints("axes")));
}

// Extrema that are equal share the gradient evenly, as the element-wise maximum does.
void extremum_rule(const BackwardNode& node) {
  const Tensor x = node.in(0);
  const Ints& axes = node.attrs().ints("axes");
  const Tensor taken = cast(eq(x, spread(node.out(), x, axes)), x.dtype());
  node.give(0, taken * spread(node.gradient() / sum_of_product(taken, axes), x, axes));
}

// The derivative by x is the product of the other elements: p / x if x is not zero. For a zero it is the product of the
// non-zero elements, times the other zero if there are two, which gives 0 and keeps second derivatives right (third
// ones with at most two zeros).
void product_rule(const BackwardNode& node) {
  const Tensor x = node.in(0);
  const Ints& axes = node.attrs().ints("axes");
  const Tensor is_zero = eq(x, 0.0), not_zero = select(is_zero, 1.0, x);
  const Tensor zeros = sum(cast(is_zero, x.dtype()), axes), rest = prod(not_zero, axes);
  const Tensor alone = spread(select(eq(zeros, 1.0), rest, 0.0), x, axes);
  const Tensor beside_one = spread(select(eq(zeros, 2.0), rest, 0.0), x, axes);
  const Tensor other_zero = spread(sum(select(is_zero, x, 0.0), axes), x, axes) - x;
  const Tensor others = select(is_zero, alone + beside_one * other_zero, spread(node.out(), x, axes) / not_zero);
  node.give(0, spread(node.gradient(), x, axes) * others);
}

// d mean / dx = 1 / n; d variance / dx = 2 (x - mean) / n.
void moments_rule(const BackwardNode& node) {
  const Ints& axes = node.attrs().ints("axes");
  const DType dtype = node.out().dtype();
  const Tensor x = as(node.in(0), dtype), n = count(x, axes);
  Tensor dx;
  if (node.gradient(0).valid()) dx = spread(node.gradient(0) / n, x, axes);
  if (node.gradient(1).valid()) {
    const Tensor through_variance = spread(node.gradient(1) * 2.0 / n, x, axes) * (x - spread(node.out(0), x, axes));
    dx = dx.valid() ? dx + through_variance : through_variance;
  }
  node.give(0, dx);
}

// --- windows

// Returns the attributes of the op that spreads a gradient over the node's input, whose rows and columns it names.
Attrs spreading(const BackwardNode& node) {
  const Tensor x = node.in(0);
  const Ints& axes = node.attrs().ints("axes");
  Attrs attrs = node.attrs();
  return attrs.set("input_size", Ints{x.size(axes[0]), x.size(axes[1])});
}

// Returns the attributes of the op that gathers a gradient from what the node spreads.
Attrs gathering(const BackwardNode& node) {
  Attrs attrs = node.attrs();
  attrs.erase("input_size");
  return attrs;
}

void max_pool_rule(const BackwardNode& node) {
  node.give(0, emit(node, Op::max_pool_grad, {node.gradient(), node.out(1)}, spreading(node)));
}

void max_pool_grad_rule(const BackwardNode& node) {
  node.give(0, emit(node, Op::take_at_index, {node.gradient(), node.in(1)}, gathering(node)));
}

void take_at_index_rule(const BackwardNode& node) {
  node.give(0, emit(node, Op::max_pool_grad, {node.gradient(), node.in(1)}, spreading(node)));
}

void sum_pool_rule(const BackwardNode& node) {
  node.give(0, emit(node, Op::sum_pool_grad, {node.gradient()}, spreading(node)));
}

void sum_pool_grad_rule(const BackwardNode& node) {
  node.give(0, emit(node, Op::sum_pool, {node.gradient()}, gathering(node)));
}

// --- indexed

void gather_rule(const BackwardNode& node) {
  node.give(0, scatter_add(node.in(1), node.gradient(), node.in(0).size(0)));
}

// An update whose index was out of range was added nowhere and has gradient 0, whereas gather alone would give NaN.
void scatter_add_rule(const BackwardNode& node) {
  const Tensor indices = node.in(0), rows = gather(node.gradient(), indices);
  const int64_t count = node.attrs().integer("rows");
  if (indexes_within(node.graph(), indices.value(), count)) return node.give(1, rows);
  Ints axes;
  for (int64_t a = 0; a < indices.rank(); ++a) axes.push_back(a);
  const Tensor wide = broadcast_axes(indices, rows.shape(), axes);
  node.give(1, select(bit_and(wide >= 0.0, wide < static_cast<double>(count)), rows, 0.0));
}

// The gradient of a window is a window of the gradient: row q of x is row q - top of it, column q is q - left, or
// left + columns - 1 - q where it is mirrored.
void crop_rule(const BackwardNode& node) {
  const Tensor window = node.in(1);
  const Dims& from = node.in(0).shape();
  const Tensor top = slice(window, 1, 0, 1), left = slice(window, 1, 1, 2), mirrored = slice(window, 1, 2, 3);
  const auto more = static_cast<double>(node.gradient().size(-1) - from.back());
  const Tensor back = concat({neg(top), select(ne(mirrored, 0.0), left + more, neg(left)), mirrored}, 1);
  node.give(0, crop(node.gradient(), back, {from[from.size() - 2], from.back()}));
}

// --- matrix products and convolutions

// Let c = A B, where A is a or its transpose and B is b or its transpose. Then dA = dc B', dB = A' dc, each transposed
// back if needed.
void matmul_rule(const BackwardNode& node) {
  const Tensor a = node.in(0), b = node.in(1), dc = as(node.gradient(), a.dtype());
  const bool ta = node.attrs().integer("transpose_a") != 0, tb = node.attrs().integer("transpose_b") != 0;
  if (node.needs(0)) node.give(0, ta ? matmul(b, dc, tb, true) : matmul(dc, b, false, !tb));
  if (node.needs(1)) node.give(1, tb ? matmul(dc, a, true, ta) : matmul(a, dc, !ta, false));
}

// The three convolutions are one trilinear form in (x, w, y): the gradient of each to one of its arguments is another.
// Layouts are logical here: the layout pass comes later.
Attrs window_attrs(const Attrs& attrs) {
  return {{"stride", attrs.ints("stride")},
          {"padding", attrs.ints("padding")},
          {"dilation", attrs.ints("dilation")},
          {"groups", attrs.integer("groups")}};
}

Tensor conv_y(const BackwardNode& node, const Tensor& x, const Tensor& w) {
  return emit(node, Op::conv2d, {x, w}, window_attrs(node.attrs()));
}

Tensor conv_x(const BackwardNode& node, const Tensor& y, const Tensor& w, const Dims& x) {
  Attrs attrs = window_attrs(node.attrs());
  attrs.set("input_size", Ints{x[2], x[3]}).set("channels", x[1]);
  return emit(node, Op::conv2d_input_grad, {y, w}, attrs);
}

Tensor conv_w(const BackwardNode& node, const Tensor& x, const Tensor& y, const Dims& w) {
  Attrs attrs = window_attrs(node.attrs());
  attrs.set("kernel", Ints{w[2], w[3]});
  return emit(node, Op::conv2d_weight_grad, {x, y}, attrs);
}

void conv2d_rule(const BackwardNode& node) {
  const Tensor x = node.in(0), w = node.in(1), dy = node.gradient();
  if (node.needs(0)) node.give(0, conv_x(node, dy, w, x.shape()));
  if (node.needs(1)) node.give(1, conv_w(node, x, dy, w.shape()));
}

void conv2d_input_grad_rule(const BackwardNode& node) {
  const Tensor y = node.in(0), w = node.in(1), dx = node.gradient();
  if (node.needs(0)) node.give(0, conv_y(node, dx, w));
  if (node.needs(1)) node.give(1, conv_w(node, dx, y, w.shape()));
}

void conv2d_weight_grad_rule(const BackwardNode& node) {
  const Tensor x = node.in(0), y = node.in(1), dw = as(node.gradient(), node.in(0).dtype());
  if (node.needs(0)) node.give(0, conv_x(node, y, dw, x.shape()));
  if (node.needs(1)) node.give(1, conv_y(node, x, dw));
}

// --- attention

// The log-sum-exp is there for this rule alone, so no gradient comes through it.
void flash_attention_rule(const BackwardNode& node) {
  ensure(!node.gradient(1).valid(), "flash_attention: a gradient of its log-sum-exp");
  std::vector<Tensor> in = {node.in(0), node.in(1), node.in(2), node.out(0), node.out(1), node.gradient()};
  for (size_t i = kFlashInputs; i < node.inputs(); ++i) in.push_back(node.in(i));
  const Tensor first = emit(node, Op::flash_attention_grad, in, node.attrs());
  for (int32_t i = 0; i < 3; ++i)
    if (node.needs(static_cast<size_t>(i))) node.give(static_cast<size_t>(i), {node.graph(), {first.value().node, i}});
}

// Differentiates the composite twice. It has o and the log-sum-exp as functions of q, k and v, which they are: no
// gradient is given to them apart. Both derivatives end at copies of q, k, v and dO, because dO depends on the
// attention of q, k and v wherever the loss is not linear.
void flash_attention_grad_rule(const BackwardNode& node) {
  const auto copy = [&](size_t input) {
    return emit(node, Op::reshape, {node.in(input)}, {{"shape", node.in(input).shape()}});
  };
  const std::vector<Tensor> of = {copy(0), copy(1), copy(2)};
  AttentionOptions options{.heads = node.attrs().integer("heads"),
                           .causal = node.attrs().integer("causal") != 0,
                           .scale = node.attrs().real("scale")};
  if (node.inputs() > kFlashGradInputs) options.lengths = node.in(kFlashGradInputs + 1);
  const Tensor d_o = copy(5);
  Tensor seen = d_o;
  if (node.inputs() > kFlashGradInputs) {
    const Tensor row = broadcast_axes(iota(node.graph(), DType::i32, d_o.size(1)), d_o.shape(), {1});
    seen = select(row < broadcast_axes(node.in(kFlashGradInputs), d_o.shape(), {0}), d_o, 0.0);
  }
  const std::vector<Tensor> first = gradients(sum(attention(of[0], of[1], of[2], options) * seen), of);
  Tensor product;
  for (size_t i = 0; i < 3; ++i) {
    if (!node.gradient(i).valid()) continue;
    const Tensor part = sum(first[i] * node.gradient(i));
    product = product.valid() ? product + part : part;
  }
  const std::vector<Tensor> second = gradients(product, {of[0], of[1], of[2], d_o});
  for (size_t i = 0; i < 4; ++i) {
    const size_t input = i < 3 ? i : 5;
    if (node.needs(input)) node.give(input, second[i]);
  }
}

// --- markers

void identity_rule(const BackwardNode& node) { node.give(0, node.gradient()); }

// The sum contains every worker's x, so the gradient of x is the sum of all workers' gradients.
void worker_sum_rule(const BackwardNode& node) { node.give(0, worker_sum(node.gradient())); }
void all_reduce_rule(const BackwardNode& node) { node.give(0, all_reduce(node.gradient())); }

struct Row {
  Op op;
  GradientRule rule;
};

constexpr Row kRules[] = {
    {Op::broadcast, broadcast_rule},
    {Op::reshape, reshape_rule},
    {Op::transpose, transpose_rule},
    {Op::slice, slice_rule},
    {Op::pad, pad_rule},
    {Op::concat, concat_rule},
    {Op::reduce_sum, sum_rule},
    {Op::reduce_max, extremum_rule},
    {Op::reduce_min, extremum_rule},
    {Op::reduce_prod, product_rule},
    {Op::moments, moments_rule},
    {Op::max_pool, max_pool_rule},
    {Op::max_pool_grad, max_pool_grad_rule},
    {Op::take_at_index, take_at_index_rule},
    {Op::sum_pool, sum_pool_rule},
    {Op::sum_pool_grad, sum_pool_grad_rule},
    {Op::gather, gather_rule},
    {Op::scatter_add, scatter_add_rule},
    {Op::crop, crop_rule},
    {Op::matmul, matmul_rule},
    {Op::conv2d, conv2d_rule},
    {Op::conv2d_input_grad, conv2d_input_grad_rule},
    {Op::conv2d_weight_grad, conv2d_weight_grad_rule},
    {Op::pack_weights, identity_rule},
    {Op::flash_attention, flash_attention_rule},
    {Op::flash_attention_grad, flash_attention_grad_rule},
    {Op::worker_sum, worker_sum_rule},
    {Op::all_reduce, all_reduce_rule},
};

using RuleTable = std::array<GradientRule, static_cast<size_t>(Op::kCount)>;

constexpr RuleTable by_op() {
  RuleTable table{};
  for (const Row& row : kRules) table[static_cast<size_t>(row.op)] = row.rule;
  return table;
}

constexpr RuleTable kByOp = by_op();

}  // namespace

BackwardNode::BackwardNode(Graph& graph, int32_t node, std::vector<Tensor> output_gradients, std::vector<bool> needs,
                           Give give)
    : graph_(graph),
      index_(node),
      node_(graph.node(node)),
      gradients_(std::move(output_gradients)),
      needs_(std::move(needs)),
      give_(std::move(give)) {}

GradientRule gradient_rule(Op op) { return is_pointwise(op) ? pointwise_gradient : kByOp[static_cast<size_t>(op)]; }

}  // namespace kb
