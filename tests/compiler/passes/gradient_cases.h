// Cases of ops whose gradients are compared with finite differences.
#pragma once
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include "compiler/passes/gradient_rules.h"
#include "compiler/passes/passes.h"
#include "graph/formula.h"
#include "graph/layers.h"
#include "graph/text.h"
#include "tests/compiler/gradient_case.h"
#include "tests/support/random_graph.h"

namespace kb::gradients_test {

using test::GradientCase;
using Results = std::vector<Tensor>;
using Build = std::function<Results(GradientCase&)>;

constexpr double kTolerance = 1e-6;

inline Tensor emit(GradientCase& c, Op op, const std::vector<Tensor>& inputs, Attrs attrs) {
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(input.value());
  return {c.graph, c.graph.add(op, std::move(values), std::move(attrs))};
}

// --- point-wise

// Returns a random shape that broadcasts to `shape`.
inline Dims narrowed(GradientCase& c, Dims shape) {
  for (int64_t& extent : shape) {
    if (c.integer(0, 3) == 0) extent = 1;
  }
  if (c.coin()) shape.erase(shape.begin(), shape.begin() + c.integer(0, static_cast<int64_t>(shape.size())));
  return shape;
}

inline Results pointwise_case(GradientCase& c, Op op) {
  const Dims shape = c.shape(c.integer(0, 3));
  const OpDomain d = info(op).smooth;
  if (op == Op::cast) return {cast(c.x(shape), DType::f32)};
  if (op == Op::select) return {select(c.fixed(shape) > 0.1, c.x(shape), c.x(narrowed(c, shape)))};
  std::vector<Operand> args{c.x(shape, d.low, d.high)};
  if (info(op).arity == 2) args.push_back(c.x(narrowed(c, shape), d.low, d.high));
  return {pointwise(op, args)};
}

// --- the other classes

inline Window window_of(GradientCase& c, const Dims& image, bool padded = true) {
  Window w;
  w.kernel = {c.integer(1, 3), c.integer(1, 3)};
  for (size_t a = 0; a < 2; ++a) {
    w.stride[a] = c.integer(1, 3);
    w.padding[a] = padded ? c.integer(0, w.kernel[a] / 2) : 0;
    w.dilation[a] = 2 * (w.kernel[a] - 1) + 1 <= image[2 + a] ? c.integer(1, 2) : 1;
  }
  return w;
}

inline Attrs attrs_of(const Window& w) {
  return {{"kernel", w.kernel}, {"stride", w.stride}, {"padding", w.padding}, {"dilation", w.dilation}};
}

inline Dims image_shape(GradientCase& c, int64_t channels) {
  return {c.integer(1, 2), channels, c.integer(3, 6), c.integer(3, 6)};
}

struct ConvCase {
  Window window;
  int64_t groups;
  Dims x, w;
};

inline ConvCase conv_case(GradientCase& c) {
  ConvCase conv;
  conv.groups = c.integer(1, 2);
  conv.x = image_shape(c, conv.groups * c.integer(1, 2));
  conv.window = window_of(c, conv.x);
  conv.w = {conv.groups * c.integer(1, 2), conv.x[1] / conv.groups, conv.window.kernel[0], conv.window.kernel[1]};
  return conv;
}

inline Dims conv_y_shape(const ConvCase& conv) {
  Graph g;
  const Tensor x = constant(g, DType::f64, 0.0, conv.x), w = constant(g, DType::f64, 0.0, conv.w);
  return convolution(x, w, conv.window, conv.groups).shape();
}

inline Results broadcast_case(GradientCase& c) {
  const Dims shape = c.shape(3);
  const Tensor rows = c.x({shape[0]}), thin = c.x({shape[0], 1, shape[2]}), narrow = c.x(narrowed(c, shape));
  return {broadcast_axes(rows, shape, {0}), broadcast_axes(thin, shape, {0, 1, 2}), broadcast_to(narrow, shape)};
}

inline Results slice_case(GradientCase& c) {
  const Dims shape = c.shape(3, 6);
  Ints begin, end, step;
  for (const int64_t extent : shape) {
    begin.push_back(c.integer(0, extent - 1));
    end.push_back(c.integer(begin.back() + 1, extent));
    step.push_back(c.integer(1, 3));
  }
  return {slice(c.x(shape), begin, end, step), slice(c.x({7}), 0, 1, 7, 3)};
}

inline Results pad_case(GradientCase& c) {
  Ints low, high, interior;
  for (int i = 0; i < 3; ++i) {
    low.push_back(c.integer(0, 2));
    high.push_back(c.integer(0, 2));
    interior.push_back(c.integer(0, 2));
  }
  return {pad(c.x(c.shape(3, 3)), low, high, 1.5, interior)};
}

inline Results concat_case(GradientCase& c) {
  const Tensor a = c.x({2, 3}), b = c.x({2, 1}), d = c.x({1, 3});
  return {concat({a, b, a}, 1), concat({a, d}, 0)};
}

inline Results moments_case(GradientCase& c) {
  const int64_t rank = c.integer(1, 4);
  const Moments m = moments(c.x(c.shape(rank)), c.axes(rank));
  return {m.mean, m.variance};
}

inline Tensor reduced(GradientCase& c, Op op) {
  const int64_t rank = c.integer(1, 4);
  const Tensor x = c.x(c.shape(rank));
  const Ints axes = c.axes(rank);
  const bool keep = c.coin();
  if (op == Op::reduce_prod) return prod(x, axes, keep);
  return op == Op::reduce_sum ? sum(x, axes, keep) : op == Op::reduce_max ? max(x, axes, keep) : min(x, axes, keep);
}

inline MaxPool pooled(GradientCase& c, const Tensor& x) {
  Window w = window_of(c, x.shape());
  w.dilation = {1, 1};
  return max_pool_with_index(x, w, {2, 3});
}

inline Attrs pool_attrs(GradientCase& c, const MaxPool& pool) { return c.graph.node(pool.value.value()).attrs; }

inline Results max_pool_grad_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  const MaxPool pool = pooled(c, c.fixed(shape));
  return {emit(c, Op::max_pool_grad, {c.x(pool.value.shape()), pool.index},
               pool_attrs(c, pool).set("input_size", Ints{shape[2], shape[3]}))};
}

inline Results take_at_index_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  const MaxPool pool = pooled(c, c.fixed(shape));
  return {emit(c, Op::take_at_index, {c.x(shape), pool.index}, pool_attrs(c, pool))};
}

inline Results sum_pool_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  Attrs attrs = attrs_of(window_of(c, shape));
  attrs.set("axes", Ints{2, 3});
  return {emit(c, Op::sum_pool, {c.x(shape)}, attrs)};
}

inline Results sum_pool_grad_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  Attrs attrs = attrs_of(window_of(c, shape));
  attrs.set("axes", Ints{2, 3});
  const Dims small = emit(c, Op::sum_pool, {c.fixed(shape)}, attrs).shape();
  attrs.set("input_size", Ints{shape[2], shape[3]});
  return {emit(c, Op::sum_pool_grad, {c.x(small)}, attrs)};
}

inline Results gather_case(GradientCase& c) {
  const int64_t rows = c.integer(1, 4);
  Dims table = c.shape(c.integer(0, 2), 3);
  table.insert(table.begin(), rows);
  return {gather(c.x(table), c.indices(c.shape(c.integer(0, 2)), rows))};
}

inline Results crop_case(GradientCase& c) {
  const Dims x = c.shape(c.integer(3, 4));
  const Tensor window = c.indices({x[0], 3}, 5) - 2.0;
  return {crop(c.x(x), window, {c.integer(1, 5), c.integer(1, 5)})};
}

inline Results scatter_add_case(GradientCase& c) {
  const Dims at = c.shape(c.integer(1, 2));
  Dims updates = at;
  if (c.coin()) updates.push_back(3);
  return {scatter_add(c.indices(at, 3), c.x(updates), 3)};
}

inline Results matmul_case(GradientCase& c) {
  const bool ta = c.coin(), tb = c.coin();
  const int64_t m = c.integer(1, 4), k = c.integer(1, 4), n = c.integer(1, 4);
  Dims a = ta ? Dims{k, m} : Dims{m, k}, b = tb ? Dims{n, k} : Dims{k, n};
  if (c.coin()) {
    const int64_t batch = c.integer(1, 3);
    a.insert(a.begin(), batch);
    b.insert(b.begin(), batch);
  }
  return {matmul(c.x(a), c.x(b), ta, tb)};
}

inline Results conv2d_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  return {convolution(c.x(conv.x), c.x(conv.w), conv.window, conv.groups)};
}

inline Results conv2d_input_grad_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  return {convolution_input_grad(c.x(conv_y_shape(conv)), c.x(conv.w), conv.window, conv.groups, {conv.x[2], conv.x[3]},
                                 conv.x[1])};
}

inline Results conv2d_weight_grad_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  return {convolution_weight_grad(c.x(conv.x), c.x(conv_y_shape(conv)), conv.window, conv.groups)};
}

inline Results pack_weights_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  Attrs attrs = attrs_of(conv.window);
  attrs.set("groups", conv.groups).set("usage", std::string("forward")).set("x_shape", conv.x);
  return {emit(c, Op::pack_weights, {c.x(conv.w)}, attrs)};
}

// Two heads with three features of queries and keys and two of values. Lengths leave each query a key.
struct FlashCase {
  std::vector<Tensor> qkv, lengths;
  Attrs attrs;
  Tensor o;
};

inline FlashCase flash_case(GradientCase& c) {
  const int64_t samples = 2, queries = c.integer(2, 3);
  const bool causal = c.coin(), bounded = c.coin();
  const int64_t keys = causal ? queries : c.integer(2, 4);
  FlashCase result;
  result.qkv = {c.x({samples, queries, 6}, -1, 1), c.x({samples, keys, 6}, -1, 1), c.x({samples, keys, 4}, -1, 1)};
  if (bounded)
    for (const std::vector<double>& lengths : {std::vector<double>{2, 1}, {1, 2}})
      result.lengths.push_back(constant(c.graph, DType::i32, {samples}, lengths));
  result.attrs = {{"heads", int64_t{2}}, {"causal", int64_t{causal}}, {"scale", 0.6}};
  std::vector<Tensor> in = result.qkv;
  in.insert(in.end(), result.lengths.begin(), result.lengths.end());
  result.o = emit(c, Op::flash_attention, in, result.attrs);
  return result;
}

// The gradient's operands o and log-sum-exp must be those of q, k and v.
inline Results flash_attention_grad_case(GradientCase& c) {
  const FlashCase flash = flash_case(c);
  std::vector<Tensor> in = flash.qkv;
  const int32_t node = flash.o.value().node;
  in.insert(in.end(), {flash.o, Tensor(c.graph, {node, 1}), c.x(flash.o.shape(), -1, 1)});
  in.insert(in.end(), flash.lengths.begin(), flash.lengths.end());
  const Tensor first = emit(c, Op::flash_attention_grad, in, flash.attrs);
  return {first, Tensor(c.graph, {first.value().node, 1}), Tensor(c.graph, {first.value().node, 2})};
}

inline Results transpose_case(GradientCase& c) {
  Ints perm;
  for (int64_t a = 0; a < 4; ++a) perm.insert(perm.begin() + c.integer(0, a), a);
  return {transpose(c.x(c.shape(4)), perm)};
}

// One row for each op that is not point-wise and has a gradient.
struct Case {
  Op op;
  Build build;
};

inline const std::vector<Case>& cases() {
  static const std::vector<Case> table = {
      {Op::broadcast, broadcast_case},
      {Op::reshape,
       [](GradientCase& c) {
         return Results{reshape(c.x({2, 3, 4}), {4, -1})};
       }},
      {Op::transpose, transpose_case},
      {Op::slice, slice_case},
      {Op::pad, pad_case},
      {Op::concat, concat_case},
      {Op::reduce_sum, [](GradientCase& c) { return Results{reduced(c, Op::reduce_sum)}; }},
      {Op::reduce_max, [](GradientCase& c) { return Results{reduced(c, Op::reduce_max)}; }},
      {Op::reduce_min, [](GradientCase& c) { return Results{reduced(c, Op::reduce_min)}; }},
      {Op::reduce_prod, [](GradientCase& c) { return Results{reduced(c, Op::reduce_prod)}; }},
      {Op::moments, moments_case},
      {Op::max_pool, [](GradientCase& c) { return Results{pooled(c, c.x(image_shape(c, 2))).value}; }},
      {Op::max_pool_grad, max_pool_grad_case},
      {Op::take_at_index, take_at_index_case},
      {Op::sum_pool, sum_pool_case},
      {Op::sum_pool_grad, sum_pool_grad_case},
      {Op::gather, gather_case},
      {Op::scatter_add, scatter_add_case},
      {Op::crop, crop_case},
      {Op::matmul, matmul_case},
      {Op::conv2d, conv2d_case},
      {Op::conv2d_input_grad, conv2d_input_grad_case},
      {Op::conv2d_weight_grad, conv2d_weight_grad_case},
      {Op::pack_weights, pack_weights_case},
      {Op::flash_attention, [](GradientCase& c) { return Results{flash_case(c).o}; }},
      {Op::flash_attention_grad, flash_attention_grad_case},
      {Op::worker_sum, [](GradientCase& c) { return Results{worker_sum(c.x(c.shape(2)))}; }},
      {Op::all_reduce, [](GradientCase& c) { return Results{all_reduce(c.x(c.shape(2)))}; }},
  };
  return table;
}

// Whether a point-wise op takes and gives floats; comparisons and operations on bits have nothing to differentiate.
inline bool maps_floats(const OpInfo& row) {
  return row.rule == TypeRule::floats || row.rule == TypeRule::arithmetic || row.op == Op::select || row.op == Op::cast;
}

const std::set<Op> kNoGradient = {Op::input,       Op::variable,      Op::constant,    Op::iota,
                                  Op::count,       Op::extent,        Op::random_bits, Op::argmax,
                                  Op::index_order, Op::stop_gradient, Op::pack_bits,   Op::unpack_bits};

inline Build build_of(Op op) {
  if (is_pointwise(op)) return [op](GradientCase& c) { return pointwise_case(c, op); };
  for (const Case& c : cases()) {
    if (c.op == op) return c.build;
  }
  return nullptr;
}

inline void check(const std::string& what, const Build& build, int order, uint32_t seeds) {
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    GradientCase c(seed);
    const Results results = build(c);
    const double error = c.relative_error(results, order);
    BOOST_TEST(error <= kTolerance, what << ", order " << order << ", seed " << seed << ": relative error " << error);
  }
}

inline bool builds(const Build& build, Op op) {
  GradientCase c(0);
  build(c);
  return std::any_of(c.graph.nodes.begin(), c.graph.nodes.end(), [&](const Node& node) { return node.op == op; });
}

inline std::vector<double> values(const Tensor& x, const Bindings& bindings = {}) {
  const Value v = x.value();
  return interpret_values(x.graph(), bindings, std::span(&v, 1))[0].data;
}

inline Tensor scalar_of(const Tensor& x) { return sum(x); }

inline size_t count_op(const Graph& graph, Op op) {
  return static_cast<size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; }));
}

// Returns the graph without nodes that no output depends on, and with equal nodes made one.
inline Graph simplified(Graph graph) {
  const CompileOptions options;
  CompileState state{options, {}, {}};
  return simplify(std::move(graph), state);
}

}  // namespace kb::gradients_test
