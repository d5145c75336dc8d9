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
namespace {

using test::GradientCase;
using Results = std::vector<Tensor>;
using Build = std::function<Results(GradientCase&)>;

constexpr double kTolerance = 1e-6;

Tensor emit(GradientCase& c, Op op, const std::vector<Tensor>& inputs, Attrs attrs) {
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(input.value());
  return {c.graph, c.graph.add(op, std::move(values), std::move(attrs))};
}

// --- point-wise

// A shape that broadcasts to `shape`.
Dims narrowed(GradientCase& c, Dims shape) {
  for (int64_t& extent : shape) {
    if (c.integer(0, 3) == 0) extent = 1;
  }
  if (c.coin()) shape.erase(shape.begin(), shape.begin() + c.integer(0, static_cast<int64_t>(shape.size())));
  return shape;
}

Results pointwise_case(GradientCase& c, Op op) {
  const Dims shape = c.shape(c.integer(0, 3));
  const OpDomain d = info(op).smooth;
  if (op == Op::cast) return {cast(c.x(shape), DType::f32)};
  if (op == Op::select) return {select(c.fixed(shape) > 0.1, c.x(shape), c.x(narrowed(c, shape)))};
  std::vector<Operand> args{c.x(shape, d.low, d.high)};
  if (info(op).arity == 2) args.push_back(c.x(narrowed(c, shape), d.low, d.high));
  return {pointwise(op, args)};
}

// --- the other classes

Window window_of(GradientCase& c, const Dims& image, bool padded = true) {
  Window w;
  w.kernel = {c.integer(1, 3), c.integer(1, 3)};
  for (size_t a = 0; a < 2; ++a) {
    w.stride[a] = c.integer(1, 3);
    w.padding[a] = padded ? c.integer(0, w.kernel[a] / 2) : 0;
    w.dilation[a] = 2 * (w.kernel[a] - 1) + 1 <= image[2 + a] ? c.integer(1, 2) : 1;
  }
  return w;
}

Attrs attrs_of(const Window& w) {
  return {{"kernel", w.kernel}, {"stride", w.stride}, {"padding", w.padding}, {"dilation", w.dilation}};
}

Dims image_shape(GradientCase& c, int64_t channels) {
  return {c.integer(1, 2), channels, c.integer(3, 6), c.integer(3, 6)};
}

struct ConvCase {
  Window window;
  int64_t groups;
  Dims x, w;
};

ConvCase conv_case(GradientCase& c) {
  ConvCase conv;
  conv.groups = c.integer(1, 2);
  conv.x = image_shape(c, conv.groups * c.integer(1, 2));
  conv.window = window_of(c, conv.x);
  conv.w = {conv.groups * c.integer(1, 2), conv.x[1] / conv.groups, conv.window.kernel[0], conv.window.kernel[1]};
  return conv;
}

Dims conv_y_shape(const ConvCase& conv) {
  Graph g;
  const Tensor x = constant(g, DType::f64, 0.0, conv.x), w = constant(g, DType::f64, 0.0, conv.w);
  return convolution(x, w, conv.window, conv.groups).shape();
}

Results broadcast_case(GradientCase& c) {
  const Dims shape = c.shape(3);
  const Tensor rows = c.x({shape[0]}), thin = c.x({shape[0], 1, shape[2]}), narrow = c.x(narrowed(c, shape));
  return {broadcast_axes(rows, shape, {0}), broadcast_axes(thin, shape, {0, 1, 2}), broadcast_to(narrow, shape)};
}

Results slice_case(GradientCase& c) {
  const Dims shape = c.shape(3, 6);
  Ints begin, end, step;
  for (const int64_t extent : shape) {
    begin.push_back(c.integer(0, extent - 1));
    end.push_back(c.integer(begin.back() + 1, extent));
    step.push_back(c.integer(1, 3));
  }
  return {slice(c.x(shape), begin, end, step), slice(c.x({7}), 0, 1, 7, 3)};
}

Results pad_case(GradientCase& c) {
  Ints low, high, interior;
  for (int i = 0; i < 3; ++i) {
    low.push_back(c.integer(0, 2));
    high.push_back(c.integer(0, 2));
    interior.push_back(c.integer(0, 2));
  }
  return {pad(c.x(c.shape(3, 3)), low, high, 1.5, interior)};
}

Results concat_case(GradientCase& c) {
  const Tensor a = c.x({2, 3}), b = c.x({2, 1}), d = c.x({1, 3});
  return {concat({a, b, a}, 1), concat({a, d}, 0)};
}

Results moments_case(GradientCase& c) {
  const int64_t rank = c.integer(1, 4);
  const Moments m = moments(c.x(c.shape(rank)), c.axes(rank));
  return {m.mean, m.variance};
}

Tensor reduced(GradientCase& c, Op op) {
  const int64_t rank = c.integer(1, 4);
  const Tensor x = c.x(c.shape(rank));
  const Ints axes = c.axes(rank);
  const bool keep = c.coin();
  if (op == Op::reduce_prod) return prod(x, axes, keep);
  return op == Op::reduce_sum ? sum(x, axes, keep) : op == Op::reduce_max ? max(x, axes, keep) : min(x, axes, keep);
}

MaxPool pooled(GradientCase& c, const Tensor& x) {
  Window w = window_of(c, x.shape());
  w.dilation = {1, 1};
  return max_pool_with_index(x, w, {2, 3});
}

Attrs pool_attrs(GradientCase& c, const MaxPool& pool) { return c.graph.node(pool.value.value()).attrs; }

Results max_pool_grad_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  const MaxPool pool = pooled(c, c.fixed(shape));
  return {emit(c, Op::max_pool_grad, {c.x(pool.value.shape()), pool.index},
               pool_attrs(c, pool).set("input_size", Ints{shape[2], shape[3]}))};
}

Results take_at_index_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  const MaxPool pool = pooled(c, c.fixed(shape));
  return {emit(c, Op::take_at_index, {c.x(shape), pool.index}, pool_attrs(c, pool))};
}

Results sum_pool_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  Attrs attrs = attrs_of(window_of(c, shape));
  attrs.set("axes", Ints{2, 3});
  return {emit(c, Op::sum_pool, {c.x(shape)}, attrs)};
}

Results sum_pool_grad_case(GradientCase& c) {
  const Dims shape = image_shape(c, 2);
  Attrs attrs = attrs_of(window_of(c, shape));
  attrs.set("axes", Ints{2, 3});
  const Dims small = emit(c, Op::sum_pool, {c.fixed(shape)}, attrs).shape();
  attrs.set("input_size", Ints{shape[2], shape[3]});
  return {emit(c, Op::sum_pool_grad, {c.x(small)}, attrs)};
}

Results gather_case(GradientCase& c) {
  const int64_t rows = c.integer(1, 4);
  Dims table = c.shape(c.integer(0, 2), 3);
  table.insert(table.begin(), rows);
  return {gather(c.x(table), c.indices(c.shape(c.integer(0, 2)), rows))};
}

Results crop_case(GradientCase& c) {
  const Dims x = c.shape(c.integer(3, 4));
  const Tensor window = c.indices({x[0], 3}, 5) - 2.0;
  return {crop(c.x(x), window, {c.integer(1, 5), c.integer(1, 5)})};
}

Results scatter_add_case(GradientCase& c) {
  const Dims at = c.shape(c.integer(1, 2));
  Dims updates = at;
  if (c.coin()) updates.push_back(3);
  return {scatter_add(c.indices(at, 3), c.x(updates), 3)};
}

Results matmul_case(GradientCase& c) {
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

Results conv2d_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  return {convolution(c.x(conv.x), c.x(conv.w), conv.window, conv.groups)};
}

Results conv2d_input_grad_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  return {convolution_input_grad(c.x(conv_y_shape(conv)), c.x(conv.w), conv.window, conv.groups, {conv.x[2], conv.x[3]},
                                 conv.x[1])};
}

Results conv2d_weight_grad_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  return {convolution_weight_grad(c.x(conv.x), c.x(conv_y_shape(conv)), conv.window, conv.groups)};
}

Results pack_weights_case(GradientCase& c) {
  const ConvCase conv = conv_case(c);
  Attrs attrs = attrs_of(conv.window);
  attrs.set("groups", conv.groups).set("usage", std::string("forward")).set("x_shape", conv.x);
  return {emit(c, Op::pack_weights, {c.x(conv.w)}, attrs)};
}

Results transpose_case(GradientCase& c) {
  Ints perm;
  for (int64_t a = 0; a < 4; ++a) perm.insert(perm.begin() + c.integer(0, a), a);
  return {transpose(c.x(c.shape(4)), perm)};
}

// One row for each op that is not point-wise and has a gradient.
struct Case {
  Op op;
  Build build;
};

const std::vector<Case>& cases() {
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
      {Op::worker_sum, [](GradientCase& c) { return Results{worker_sum(c.x(c.shape(2)))}; }},
      {Op::all_reduce, [](GradientCase& c) { return Results{all_reduce(c.x(c.shape(2)))}; }},
  };
  return table;
}

// Takes and gives floats: comparisons and bits have nothing to differentiate.
bool maps_floats(const OpInfo& row) {
  return row.rule == TypeRule::floats || row.rule == TypeRule::arithmetic || row.op == Op::select || row.op == Op::cast;
}

const std::set<Op> kNoGradient = {Op::input,  Op::variable,    Op::constant, Op::iota,         Op::count,
                                  Op::extent, Op::random_bits, Op::argmax,   Op::stop_gradient};

Build build_of(Op op) {
  if (is_pointwise(op)) return [op](GradientCase& c) { return pointwise_case(c, op); };
  for (const Case& c : cases()) {
    if (c.op == op) return c.build;
  }
  return nullptr;
}

void check(const std::string& what, const Build& build, int order, uint32_t seeds) {
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    GradientCase c(seed);
    const Results results = build(c);
    const double error = c.relative_error(results, order);
    BOOST_TEST(error <= kTolerance, what << ", order " << order << ", seed " << seed << ": relative error " << error);
  }
}

bool builds(const Build& build, Op op) {
  GradientCase c(0);
  build(c);
  return std::any_of(c.graph.nodes.begin(), c.graph.nodes.end(), [&](const Node& node) { return node.op == op; });
}

std::vector<double> values(const Tensor& x, const Bindings& bindings = {}) {
  const Value v = x.value();
  return interpret_values(x.graph(), bindings, std::span(&v, 1))[0].data;
}

Tensor scalar_of(const Tensor& x) { return sum(x); }

size_t count_op(const Graph& graph, Op op) {
  return static_cast<size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; }));
}

// Returns the graph without nodes that no output depends on, and with equal nodes made one.
Graph simplified(Graph graph) {
  const CompileOptions options;
  CompileState state{options, {}, {}};
  return simplify(std::move(graph), state);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients_of_ops)

BOOST_AUTO_TEST_CASE(every_op_has_a_case_or_no_gradient) {
  for (const OpInfo& row : all_ops()) {
    BOOST_TEST_CONTEXT(row.name) {
      if (kNoGradient.contains(row.op)) {
        BOOST_TEST((gradient_rule(row.op) == nullptr));
      } else if (is_pointwise(row.op) && !maps_floats(row)) {
        for (int i = 0; i < row.arity; ++i) BOOST_TEST(derivative_of(row.op, i)->number == 0);
      } else {
        BOOST_TEST((gradient_rule(row.op) != nullptr));
        const Build build = build_of(row.op);
        BOOST_REQUIRE(build);
        BOOST_TEST(builds(build, row.op));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(finite_differences) {
  for (const OpInfo& row : all_ops()) {
    if (kNoGradient.contains(row.op) || (is_pointwise(row.op) && !maps_floats(row))) continue;
    check(std::string(row.name), build_of(row.op), 1, is_pointwise(row.op) ? 4 : 8);
  }
}

BOOST_AUTO_TEST_CASE(second_order) {
  for (const OpInfo& row : all_ops()) {
    if (kNoGradient.contains(row.op) || (is_pointwise(row.op) && !maps_floats(row))) continue;
    check(std::string(row.name), build_of(row.op), 2, 2);
  }
}

// PyTorch's conventions at kinks; ties share.
BOOST_AUTO_TEST_CASE(kinks_and_ties) {
  Graph g;
  const Tensor x = constant(g, DType::f64, Dims{3}, std::vector<double>{-1, 0, 2});
  const Tensor y = constant(g, DType::f64, Dims{3}, std::vector<double>{-2, 0, 2});
  const auto gradient = [&](const Tensor& result, const Tensor& to) { return values(gradients(sum(result), {to})[0]); };
  using Reals = std::vector<double>;
  BOOST_TEST(gradient(relu(x), x) == Reals({0, 0, 1}), boost::test_tools::per_element());
  BOOST_TEST(gradient(abs(x), x) == Reals({-1, 0, 1}), boost::test_tools::per_element());
  BOOST_TEST(gradient(maximum(x, y), x) == Reals({1, 0.5, 0.5}), boost::test_tools::per_element());
  BOOST_TEST(gradient(maximum(x, y), y) == Reals({0, 0.5, 0.5}), boost::test_tools::per_element());
  BOOST_TEST(gradient(clamp(x, -0.5, 2), x) == Reals({0, 1, 1}), boost::test_tools::per_element());
  const Tensor tied = constant(g, DType::f64, Dims{4}, std::vector<double>{3, 1, 3, 3});
  BOOST_TEST(gradient(max(tied), tied) == Reals({1.0 / 3, 0, 1.0 / 3, 1.0 / 3}), boost::test_tools::per_element());
  // A branch that is not taken gives 0 even where its own derivative is infinite.
  const Tensor zero = constant(g, DType::f64, Dims{2}, std::vector<double>{0, 4});
  BOOST_TEST(gradient(select(zero > 0.0, sqrt(zero), 0.0), zero)[1] == 0.25);
  BOOST_TEST(gradient(norm(constant(g, DType::f64, 0.0, {2})), zero) == Reals({0, 0}),
             boost::test_tools::per_element());
}

// A zero's gradient is the product of the others, as PyTorch's; a second derivative that of those but two.
BOOST_AUTO_TEST_CASE(products_with_zeros) {
  using Reals = std::vector<double>;
  for (const Reals& x : {Reals{2, -3, 0.5, 4}, {2, 0, -3, 5}, {0, 7, 0, 2}, {0, 0, 3, 0}, {-0.0, 2, 3, 4}}) {
    Graph g;
    const Tensor v = constant(g, DType::f64, {4}, x);
    const Tensor first = gradients(prod(v), {v})[0];
    const Reals found = values(first);
    const auto product_but = [&](size_t i, size_t k) {
      double product = 1;
      for (size_t j = 0; j < x.size(); ++j) product *= j == i || j == k ? 1 : x[j];
      return product;
    };
    for (size_t i = 0; i < x.size(); ++i) {
      BOOST_TEST(found[i] == product_but(i, i), boost::test_tools::tolerance(1e-14));
      const auto at = static_cast<int64_t>(i);
      const Reals second = values(gradients(sum(slice(first, 0, at, at + 1)), {v})[0]);
      for (size_t k = 0; k < x.size(); ++k)
        BOOST_TEST(second[k] == (i == k ? 0 : product_but(i, k)), boost::test_tools::tolerance(1e-14));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(gradients_of_graphs)

Results batch_norm_case(GradientCase& c) {
  const Dims shape = {3, 2, 2, 3};
  const Tensor x = c.x(shape), gamma = c.x({2}), beta = c.x({2});
  const Moments m = moments(x, {0, 2, 3});
  const auto spread = [&](const Tensor& t) { return broadcast_axes(t, shape, {1}); };
  return {sigmoid((x - spread(m.mean)) * spread(gamma * rsqrt(m.variance + 1e-2)) + spread(beta))};
}

Results cross_entropy_case(GradientCase& c) {
  return {cross_entropy(c.x({3, 5}), c.indices({3}, 5), 0.125), softmax(c.x({2, 3}), 0)};
}

// Updates that no row of the table takes have no part in it.
Results scatter_case(GradientCase& c) { return {scatter_add(c.indices({8}, 6) - 1.0, c.x({8, 2}), 3)}; }

// The class that the label does not name may be impossible; smoothing that is 0 when the step runs is none.
Results impossible_class_case(GradientCase& c) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = c.x({3, 2}), none = constant(c.graph, DType::f64, -inf, {3, 1});
  const Tensor labels = constant(c.graph, DType::i32, {3}, {0, 1, 0});
  return {cross_entropy(concat({x, none}, 1), labels),
          cross_entropy(concat({x, none}, 1), labels, reshape(c.fixed({1}) * 0.0, {}))};
}

// A small net: every kind of op that a convolutional net has.
Results net_case(GradientCase& c) {
  const Tensor x = c.fixed({2, 2, 6, 6}), w1 = c.x({3, 2, 3, 3}), w2 = c.x({4, 3}), b = c.x({4});
  Tensor y = tanh(convolution(x, w1, {.kernel = {3, 3}, .padding = {1, 1}}));
  y = avg_pool2d(y, {.kernel = 2});
  y = matmul(global_avg_pool(y), w2, false, true) + b;
  return {cross_entropy(y, c.indices({2}, 4), 0.1)};
}

BOOST_AUTO_TEST_CASE(composites) {
  for (const int order : {1, 2}) {
    check("batch norm", batch_norm_case, order, 2);
    check("cross-entropy", cross_entropy_case, order, 2);
    check("an impossible class", impossible_class_case, order, 2);
    check("scatter_add past the table", scatter_case, order, 2);
    check("net", net_case, order, 1);
    check(
        "norm",
        [](GradientCase& c) {
          return Results{norm(c.x({3, 4}), {1})};
        },
        order, 2);
    check(
        "leaky relu, clamp",
        [](GradientCase& c) {
          return Results{leaky_relu(c.x({7}), 0.1), clamp(c.x({8}), -1, 1), mean(c.x({2, 3}), {0})};
        },
        order, 2);
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_used_twice) {
  for (const int order : {1, 2}) {
    check(
        "twice",
        [](GradientCase& c) {
          const Tensor x = c.x({3, 3}), y = sin(x);
          return Results{y * x + exp(y) * x, matmul(y, y, true)};
        },
        order, 2);
  }
}

BOOST_AUTO_TEST_CASE(a_parameter_shared_by_two_layers) {
  for (const int order : {1, 2}) {
    check(
        "shared",
        [](GradientCase& c) {
          const Tensor w = c.x({3, 3}, -1, 1), b = c.x({3});
          return Results{tanh(matmul(tanh(matmul(c.fixed({4, 3}), w) + b), w) + b)};
        },
        order, 2);
  }
}

BOOST_AUTO_TEST_CASE(stop_gradient_and_independence) {
  Graph g;
  const Tensor x = constant(g, DType::f64, Dims{2}, std::vector<double>{1, 2});
  const Tensor unused = constant(g, DType::f64, 1.0, {3});
  const std::vector<Tensor> found = gradients(sum(x * stop_gradient(x * x)), {x, unused});
  const std::vector<double> expected = {1, 4};
  BOOST_TEST(values(found[0]) == expected, boost::test_tools::per_element());
  BOOST_TEST(values(found[1]) == std::vector<double>(3, 0.0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_loss_must_be_a_scalar) {
  Graph g;
  const Tensor x = constant(g, DType::f32, 1.0, {2});
  BOOST_CHECK_EXCEPTION(gradients(x, {x}), Error, [](const Error& error) {
    return std::string(error.what()) == "gradients: expected a scalar loss of a float dtype, got f32[2]";
  });
}

// Rules work for inputs that need a gradient, and for no others.
BOOST_AUTO_TEST_CASE(only_what_is_needed_is_built) {
  Graph g;
  const Tensor x = input(g, "x", DType::f32, {2, 3, 8, 8}, "NCHW");
  const Tensor w = parameter(g, "w", Role::weight, {DType::f32, {4, 3, 3, 3}, "OIHW"}, {});
  gradients(sum(convolution(x, w, {.kernel = {3, 3}})), {w});
  BOOST_TEST(count_op(g, Op::conv2d_weight_grad) == 1u);
  BOOST_TEST(count_op(g, Op::conv2d_input_grad) == 0u);
}

// As many nodes a layer, however deep.
BOOST_AUTO_TEST_CASE(backward_graph_grows_linearly) {
  const auto nodes = [](int layers) {
    Graph g;
    Tensor x = input(g, "x", DType::f32, {4, 8}, "");
    std::vector<Tensor> weights;
    for (int i = 0; i < layers; ++i) {
      weights.push_back(parameter(g, "w" + std::to_string(i), Role::weight, {DType::f32, {8, 8}, ""}, {}));
      x = relu(matmul(x, weights.back())) + x;
    }
    gradients(sum(x), weights);
    return g.nodes.size();
  };
  BOOST_TEST(nodes(30) - nodes(20) == nodes(20) - nodes(10));
}

BOOST_AUTO_TEST_CASE(backward_nodes_stand_where_the_forward_ones_do) {
  Graph g;
  const Tensor x = input(g, "x", DType::f32, {4, 3}, "");
  const Tensor y = linear("fc", x, 2);
  const int line = __LINE__ - 1;
  const Tensor loss = sum(y * y);
  const size_t forward = g.nodes.size();
  gradients(loss, {Tensor(g, g.read("fc.weight"))});
  size_t at_layer = 0;
  for (size_t i = forward; i < g.nodes.size(); ++i) {
    const Node& node = g.nodes[i];
    BOOST_TEST(node.frame >= 0);
    if (node.op != Op::matmul) continue;
    BOOST_TEST(g.scopes[static_cast<size_t>(node.scope)] == "fc");
    BOOST_TEST(g.place(node) == "gradients_test.cpp:" + std::to_string(line));
    ++at_layer;
  }
  BOOST_TEST(at_layer == 1u);
}

// Weight gradients of bf16 convolutions are f32; those of a parameter in f32 that is cast to bf16 come in f32.
BOOST_AUTO_TEST_CASE(weight_gradients_stay_wide) {
  Graph g;
  const Tensor x = input(g, "x", DType::bf16, {2, 3, 8, 8}, "NCHW");
  const Tensor low = input(g, "low", DType::bf16, {4, 3, 3, 3}, "OIHW");
  const Tensor master = parameter(g, "master", Role::weight, {DType::f32, {4, 3, 3, 3}, "OIHW"}, {});
  const Window window{.kernel = {3, 3}};
  const Tensor y = convolution(x, low, window) + convolution(x, cast(master, DType::bf16), window);
  const std::vector<Tensor> found = gradients(sum(cast(y, DType::f32)), {low, master});
  BOOST_TEST((found[0].dtype() == DType::f32));
  BOOST_TEST((found[1].dtype() == DType::f32));
  // No rounding between the library's result and the gradient.
  BOOST_TEST((g.node(found[1].value()).op == Op::conv2d_weight_grad));
}

Graph batch_norm_graph(int64_t n, bool batch_norm_twice = false) {
  Graph g("bn");
  const Tensor x = parameter(g, "x", Role::weight, {DType::f32, {n, 4, 5, 5}, "NCHW"}, {});
  Tensor y = batch_norm("bn", x);
  y = relu(y + input(g, "residual", DType::f32, {n, 4, 5, 5}, "NCHW"));
  if (batch_norm_twice) y = batch_norm("bn2", y);
  const Tensor weighted = y * input(g, "dy", DType::f32, {n, 4, 5, 5}, "NCHW");
  std::vector<Tensor> parameters;
  for (const Variable& v : std::vector<Variable>(g.variables)) {
    if (v.kind == VariableKind::parameter) parameters.emplace_back(g, g.read(v.name));
  }
  const std::vector<Tensor> found = gradients(scalar_of(weighted), parameters);
  for (const Tensor& gradient : found) {
    g.outputs.push_back({"g" + std::to_string(g.outputs.size()), gradient.value(), Merge::sum});
  }
  return g;
}

// sum(dy) and sum(dy * (x - mean)): the least there can be (golden number of launches and passes rests on it).
BOOST_AUTO_TEST_CASE(batch_norm_backward_has_two_sums) {
  const auto sums = [](const Graph& graph) {
    size_t count = 0;
    for (const Node& node : graph.nodes) {
      if (node.op == Op::reduce_sum && graph.type(node.inputs[0]).elements() > 100) ++count;
    }
    return count;
  };
  BOOST_TEST(sums(simplified(batch_norm_graph(3))) == 2u);
  BOOST_TEST(sums(simplified(batch_norm_graph(3, true))) == 4u);
}

// The minibatch enters through counts and extents, never as a literal: another n compiles no new kernel.
BOOST_AUTO_TEST_CASE(constants_do_not_depend_on_the_minibatch) {
  const auto constants = [](const Graph& graph) {
    std::multiset<double> found;
    for (const Node& node : graph.nodes) {
      if (node.op == Op::constant) found.insert(node.attrs.reals("values")[0]);
    }
    return found;
  };
  BOOST_TEST(constants(batch_norm_graph(3)) == constants(batch_norm_graph(7)), boost::test_tools::per_element());
}

// Directional finite differences through random smooth graphs.
BOOST_AUTO_TEST_CASE(random_smooth_graphs) {
  size_t checked = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Graph g = test::random_graph(seed, {.smooth = true, .dtype = DType::f64});
    const Tensor loss(g, g.outputs[0].value);
    std::vector<Tensor> parameters;
    std::vector<std::string> names;
    for (const Variable& v : g.variables) {
      if (v.kind == VariableKind::parameter) names.push_back(v.name);
    }
    for (const std::string& name : names) parameters.emplace_back(g, g.read(name));
    const std::vector<Tensor> found = gradients(loss, parameters);
    verify(g);
    const Bindings bindings = random_bindings(g, seed), directions = random_bindings(g, seed + 1000);
    double slope = 0, scale = 1e-3;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::vector<double> gradient = values(found[i], bindings);
      const std::vector<double>& direction = directions.at(names[i]).data;
      for (size_t k = 0; k < gradient.size(); ++k) {
        slope += gradient[k] * direction[k];
        scale = std::max(scale, std::abs(gradient[k] * direction[k]));
        ++checked;
      }
    }
    const auto at = [&](double t) {
      Bindings moved = bindings;
      for (const std::string& name : names) {
        std::vector<double>& data = moved.at(name).data;
        for (size_t k = 0; k < data.size(); ++k) data[k] += t * directions.at(name).data[k];
      }
      return values(loss, moved)[0];
    };
    const double h = 1e-4, difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    BOOST_TEST(std::abs(slope - difference) <= kTolerance * scale,
               "seed " << seed << ": " << slope << " against " << difference);
  }
  BOOST_TEST(checked > 1000u);
}

// The pass: loss and gradients leave every worker summed, one output a parameter, in the order of the variables.
BOOST_AUTO_TEST_CASE(differentiate_adds_outputs) {
  Graph g("model");
  const Tensor x = input(g, "x", DType::f32, {4, 3}, "");
  const Tensor y = linear("fc", x, 2);
  g.outputs.push_back({"loss", sum(y * y).value(), Merge::sum});
  const auto optimizer = [](UpdateContext& update) { return update.parameter; };
  CompileOptions options;
  CompileState inference{options, {}, {}};
  BOOST_TEST(content_hash(differentiate(g, inference)) == content_hash(g));
  options.groups = {{.rule = optimizer}};
  CompileState state{options, {}, {}};
  const Graph result = differentiate(g, state);
  verify(result);
  const std::vector<std::string> expected = {"loss", "grad.fc.weight", "grad.fc.bias"};
  BOOST_REQUIRE_EQUAL(result.outputs.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    BOOST_TEST(result.outputs[i].name == expected[i]);
    BOOST_TEST((result.node(result.outputs[i].value).op == Op::worker_sum));
  }
  Graph no_loss("model");
  BOOST_CHECK_EXCEPTION(differentiate(no_loss, state), Error, [](const Error& error) {
    return std::string(error.what()) ==
           "graph \"model\": expected an output \"loss\" to train on, got none of that name";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradients_test
