// Tests the shapes, dtypes, letters of axes and source places of what the DSL makes, and the values of composites.
#include "graph/functions.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "graph/text.h"

namespace kb::functions_test {
namespace {

constexpr DType f32 = DType::f32, f64 = DType::f64, i32 = DType::i32;

struct Fixture {
  Graph graph{"test"};
  Tensor x = input(graph, "x", f32, {4, 6}, "NC");
  Tensor images = input(graph, "images", f32, {2, 3, 8, 8}, "NCHW");

  size_t nodes_of(Op op) const {
    size_t found = 0;
    for (const Node& node : graph.nodes) found += node.op == op;
    return found;
  }
};

// Returns the values of `result` in a graph whose only input is "x" in f64.
std::vector<double> values_of(Tensor result, Dims shape, std::vector<double> x) {
  Bindings bindings{{"x", {{f64, std::move(shape), ""}, std::move(x)}}};
  const Value value = result.value();
  return interpret_values(result.graph(), bindings, {&value, 1}).front().data;
}

std::string text(Tensor x) { return to_string(x.type()); }

Tensor user_block(Tensor x, Where where = Where::current()) {
  const Call call(where);
  return relu(x + 1.0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(functions)

BOOST_FIXTURE_TEST_CASE(pointwise_functions_broadcast_and_keep_letters, Fixture) {
  Tensor row = parameter(graph, "row", Role::bias, {f32, {6}, "C"}, {});
  BOOST_TEST(text(x + row) == "f32[N=4,C=6]");
  BOOST_TEST(text(row + x) == "f32[N=4,C=6]");
  BOOST_TEST(text(reshape(row, {6, 1}) * row) == "f32[6,C=6]");
  BOOST_TEST(text(2.0 / x) == "f32[N=4,C=6]");
  BOOST_TEST(text(x > 0.0) == "bool[N=4,C=6]");
  BOOST_TEST(text(select(x > 0.0, row, 1.0)) == "f32[N=4,C=6]");
  BOOST_TEST(text(constant(graph, i32, 3.0) + 4.0) == "i32[]");
  BOOST_TEST(text(cast(x, DType::bf16)) == "bf16[N=4,C=6]");
  BOOST_TEST((cast(x, f32).value() == x.value()));
}

BOOST_FIXTURE_TEST_CASE(a_number_beside_a_tensor_is_one_constant_of_its_shape, Fixture) {
  const size_t before = graph.nodes.size();
  x * 0.1;
  BOOST_TEST(graph.nodes.size() == before + 2);
  const Node& number = graph.nodes[before];
  BOOST_TEST((number.op == Op::constant));
  BOOST_TEST(number.attrs.reals("values").at(0) == static_cast<double>(0.1f));
}

BOOST_FIXTURE_TEST_CASE(movement, Fixture) {
  BOOST_TEST(text(transpose(images, {0, 2, 3, 1})) == "f32[N=2,H=8,W=8,C=3]");
  BOOST_TEST(text(transpose(x, {-1, 0})) == "f32[C=6,N=4]");
  BOOST_TEST(text(flatten(images)) == "f32[N=2,192]");
  BOOST_TEST(text(flatten(images, 2)) == "f32[N=2,C=3,64]");
  BOOST_TEST(text(reshape(x, {-1, 3})) == "f32[8,3]");
  BOOST_TEST(text(reshape(x, {2, 2, 6}, "NTC")) == "f32[N=2,T=2,C=6]");
  BOOST_TEST((reshape(x, {4, -1}).value() == x.value()));
  BOOST_TEST(text(slice(x, 1, 1, 6, 2)) == "f32[N=4,C=3]");
  BOOST_TEST(text(slice(x, -1, -2, -1)) == "f32[N=4,C=1]");
  BOOST_TEST(text(pad(x, {1, 0}, {0, 2}, 0, {2, 0})) == "f32[N=11,C=8]");
  BOOST_TEST(text(concat({x, x, x}, -1)) == "f32[N=4,C=18]");
  BOOST_TEST(text(broadcast_to(x, {3, 4, 6})) == "f32[3,N=4,C=6]");
  BOOST_TEST(text(broadcast_axes(x, {4, 2, 6}, {0, 2})) == "f32[N=4,2,C=6]");
}

BOOST_FIXTURE_TEST_CASE(reductions, Fixture) {
  BOOST_TEST(text(sum(images, {0, 2, 3})) == "f32[C=3]");
  BOOST_TEST(text(sum(images, {-1, 1}, true)) == "f32[N=2,C=1,H=8,W=1]");
  BOOST_TEST(text(max(images)) == "f32[]");
  BOOST_TEST(text(mean(x, {1})) == "f32[N=4]");
  BOOST_TEST(text(argmax(x, -1)) == "i32[N=4]");
  BOOST_TEST(text(count(x, {0})) == "f32[]");
  const Moments m = moments(cast(images, DType::f16), {0, 2, 3});
  BOOST_TEST(text(m.mean) == "f32[C=3]");
  BOOST_TEST(text(m.variance) == "f32[C=3]");
}

BOOST_FIXTURE_TEST_CASE(windows_and_convolutions, Fixture) {
  Tensor w = parameter(graph, "w", Role::weight, {f32, {6, 1, 3, 3}, "OIHW"}, {});
  const Window window{{3, 3}, {2, 1}, {1, 0}, {1, 2}};
  Tensor y = convolution(images, w, window, 3);
  BOOST_TEST(text(y) == "f32[N=2,C=6,H=4,W=4]");
  BOOST_TEST(text(convolution_input_grad(y, w, window, 3, {8, 8}, 3)) == "f32[N=2,C=3,H=8,W=8]");
  BOOST_TEST(text(convolution_weight_grad(images, y, window, 3)) == "f32[O=6,I=1,H=3,W=3]");
  BOOST_TEST(text(max_pool2d(images, {.kernel = 3, .stride = 2, .padding = 1})) == "f32[N=2,C=3,H=4,W=4]");
  BOOST_TEST(text(max_pool2d(images, {})) == "f32[N=2,C=3,H=4,W=4]");
  BOOST_TEST(text(max_pool_with_index(images, {{2, 2}}, {-2, -1}).index) == "u8[N=2,C=3,H=7,W=7]");
  const Tensor wide = broadcast_to(x, {257, 4, 6});
  BOOST_TEST(text(max_pool_with_index(wide, {{256, 1}}, {0, 1}).index) == "u8[2,N=4,C=6]");
  BOOST_TEST(text(max_pool_with_index(wide, {{257, 1}}, {0, 1}).index) == "i32[1,N=4,C=6]");
  BOOST_TEST(text(avg_pool2d(images, {.kernel = 4})) == "f32[N=2,C=3,H=2,W=2]");
  BOOST_TEST(text(global_avg_pool(images)) == "f32[N=2,C=3]");
}

// After the layout pass a convolution's tensors have their physical shapes: (N, C / block, H, W, block) or (N, H, W,
// C).
BOOST_FIXTURE_TEST_CASE(convolutions_in_physical_layouts, Fixture) {
  const auto leaf = [&](const char* name, Dims shape) { return input(graph, name, f32, std::move(shape)).value(); };
  const Value blocked = leaf("blocked", {2, 2, 8, 8, 8}), channels_last = leaf("last", {2, 8, 8, 16});
  const Value w = leaf("w", {32, 16, 3, 3});
  Attrs attrs{{"stride", Ints{1, 1}}, {"padding", Ints{1, 1}}, {"dilation", Ints{1, 1}}, {"groups", int64_t{1}}};
  const auto conv = [&](Value x, int64_t in, int64_t out) {
    Attrs with = attrs;
    with.set("block_in", in).set("block_out", out);
    return graph.type(graph.add(Op::conv2d, {x, w}, with)).shape;
  };
  BOOST_TEST(conv(blocked, 8, 8) == (Dims{2, 4, 8, 8, 8}));
  BOOST_TEST(conv(channels_last, 16, 32) == (Dims{2, 8, 8, 32}));
  BOOST_TEST(conv(channels_last, 16, 0) == (Dims{2, 32, 8, 8}));
  BOOST_CHECK_THROW(conv(blocked, 0, 0), InternalError);
  BOOST_CHECK_THROW(conv(blocked, 8, 5), InternalError);
}

BOOST_FIXTURE_TEST_CASE(matrices, Fixture) {
  Tensor a = input(graph, "a", f32, {5, 4, 3}, "BNK"), b = input(graph, "b", f32, {5, 4, 2});
  BOOST_TEST(text(matmul(a, b, true)) == "f32[B=5,K=3,2]");
  BOOST_TEST(text(matmul(a, a, false, true)) == "f32[B=5,N=4,4]");
  BOOST_TEST(text(matmul(cast(a, DType::bf16), cast(b, DType::bf16), true)) == "bf16[B=5,K=3,2]");
}

BOOST_FIXTURE_TEST_CASE(indexed, Fixture) {
  Tensor indices = input(graph, "indices", i32, {4, 2}, "NT");
  Tensor table = parameter(graph, "table", Role::embedding, {f32, {10, 3}, ""}, {});
  BOOST_TEST(text(gather(table, indices)).substr(0, 3) == "f32");
  BOOST_TEST(gather(table, indices).shape() == (Dims{4, 2, 3}));
  BOOST_TEST(scatter_add(indices, gather(table, indices), 10).shape() == (Dims{10, 3}));
  BOOST_TEST(one_hot(indices, 10).shape() == (Dims{4, 2, 10}));
  Tensor window = input(graph, "window", i32, {images.size(0), 3}, "N_");
  BOOST_TEST(crop(images, window, {5, 6}).shape() == (Dims{images.size(0), images.size(1), 5, 6}));
  BOOST_TEST(text(one_hot(cast(indices, DType::u8), 10, DType::f16)).substr(0, 3) == "f16");
}

BOOST_FIXTURE_TEST_CASE(dimensions_by_letter, Fixture) {
  BOOST_TEST(images.dim("C") == 3);
  BOOST_TEST(relu(images * 2.0).dim("W") == 8);
  BOOST_TEST(images.size(-1) == 8);
  BOOST_TEST(reshape(x, {2, 12}).named("AB").dim("B") == 12);
}

BOOST_FIXTURE_TEST_CASE(random_bits_share_their_scalars, Fixture) {
  BOOST_TEST(text(random_bits(graph, "a", {4, 6})) == "u32[4,6]");
  const size_t inputs = nodes_of(Op::input);
  {
    const Scope scope("layer1");
    random_bits(graph, "b", {4, 6, 2});
  }
  BOOST_TEST(nodes_of(Op::input) == inputs);
  BOOST_TEST(graph.nodes.back().attrs.text("stream") == "layer1.b");
  BOOST_TEST(graph.nodes.back().attrs.ints("strides") == (Ints{0, 2, 1}));
}

BOOST_AUTO_TEST_CASE(names_are_prefixed_by_the_scope) {
  Graph graph;
  const Scope outer("layer1"), inner("0");
  conv2d("conv1", input(graph, "x", f32, {1, 3, 8, 8}, "NCHW"), 4, {});
  BOOST_TEST(graph.variables.back().name == "layer1.0.conv1.weight");
  BOOST_TEST(graph.scopes.at(static_cast<size_t>(graph.nodes.back().scope)) == "layer1.0.conv1");
  BOOST_TEST(scoped("bias") == "layer1.0.bias");
}

BOOST_AUTO_TEST_CASE(nodes_keep_the_chain_of_calls) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 2});
  const int line = __LINE__ + 1;
  const Tensor y = user_block(x);
  const Node& node = graph.node(y.value());
  const std::string here = "functions_test.cpp:" + std::to_string(line);
  BOOST_TEST(graph.place(node) == here);
  const Frame& inner = graph.frames.at(static_cast<size_t>(node.frame));
  BOOST_TEST(inner.line != line);
  BOOST_TEST(graph.frames.at(static_cast<size_t>(inner.caller)).line == line);
  BOOST_TEST(graph.frames.at(static_cast<size_t>(inner.caller)).caller == -1);
  const int operator_line = __LINE__ + 1;
  const Tensor z = x + y;
  BOOST_TEST(graph.place(graph.node(z.value())) == "functions_test.cpp:" + std::to_string(operator_line));
}

BOOST_AUTO_TEST_CASE(passes_place_nodes_where_another_stands) {
  Graph graph, result;
  Tensor x = input(graph, "x", f32, {2, 2});
  Tensor y = [&] {
    const Scope scope("block");
    return relu(x);
  }();
  const Node& like = graph.node(y.value());
  Tensor copied = input(result, "x", f32, {2, 2});
  const Value one = result.add_like(graph, like, Op::neg, {copied.value()});
  Tensor two;
  {
    const Origin origin(graph, like.scope, like.frame);
    two = tanh(copied);
  }
  const int32_t three = result.append(graph, like);
  for (const Node& node : {result.node(one), result.node(two.value()), result.nodes[static_cast<size_t>(three)]}) {
    BOOST_TEST(result.place(node) == graph.place(like));
    BOOST_TEST(result.scopes.at(static_cast<size_t>(node.scope)) == "block");
  }
  BOOST_TEST(graph.place(graph.node(graph.add(Op::neg, {x.value()}))) == "");
}

BOOST_AUTO_TEST_CASE(one_node_reads_a_variable_and_one_write_is_kept) {
  Graph graph;
  Tensor s = state(graph, "s", {f32, {3}, ""}, {});
  BOOST_TEST((graph.read("s") == s.value()));
  write_state(s, s + 1.0);
  BOOST_TEST(graph.writes.size() == 1U);
  BOOST_TEST(!graph.add_write("s", s.value()));
  BOOST_TEST((graph.find_variable("s")->kind == VariableKind::state));
  BOOST_TEST(graph.find_variable("t") == nullptr);
  BOOST_CHECK_THROW(graph.read("t"), InternalError);
  graph.variables.clear();
  BOOST_TEST(graph.find_variable("s") == nullptr);
}

BOOST_AUTO_TEST_CASE(softmax_is_shifted_and_sums_to_one) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {1, 3});
  const std::vector<double> large = values_of(softmax(x), {1, 3}, {1000, 1001, 1002});
  const double z = std::exp(-2.0) + std::exp(-1.0) + 1;
  for (size_t i = 0; i < 3; ++i) BOOST_TEST(std::fabs(large[i] - std::exp(static_cast<double>(i) - 2) / z) < 1e-15);
  const std::vector<double> logs = values_of(log_softmax(x), {1, 3}, {1000, 1001, 1002});
  for (size_t i = 0; i < 3; ++i) BOOST_TEST(std::fabs(logs[i] - (static_cast<double>(i) - 2 - std::log(z))) < 1e-12);
  BOOST_TEST(values_of(softmax(reshape(x, {3, 1}), 0), {1, 3}, {5, 5, 5}).at(1) == 1.0 / 3);
}

// Label smoothing s over K classes makes the target (1 - s) one_hot + s / K: Szegedy et al. 2016, section 7.
BOOST_AUTO_TEST_CASE(cross_entropy_smooths_labels) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {2, 3});
  Tensor labels = constant(graph, i32, {2}, {2, 0});
  const std::vector<double> logits{1, 2, 4, 0.5, -1, 0};
  const auto expected = [&](size_t row, size_t label, double s) {
    double total = 0, loss = 0;
    for (size_t k = 0; k < 3; ++k) total += std::exp(logits[row * 3 + k]);
    for (size_t k = 0; k < 3; ++k) loss -= ((k == label ? 1 - s : 0) + s / 3) * (logits[row * 3 + k] - std::log(total));
    return loss;
  };
  for (const double s : {0.0, 0.1}) {
    const auto by_number = values_of(cross_entropy(x, labels, s), {2, 3}, logits);
    const auto by_tensor = values_of(cross_entropy(x, labels, constant(graph, f64, s)), {2, 3}, logits);
    for (const auto& losses : {by_number, by_tensor}) {
      BOOST_TEST(std::fabs(losses[0] - expected(0, 2, s)) < 1e-14);
      BOOST_TEST(std::fabs(losses[1] - expected(1, 0, s)) < 1e-14);
    }
  }
}

// A class that the target gives nothing may have a logit of minus infinity; smoothing gives every class a share.
BOOST_AUTO_TEST_CASE(cross_entropy_of_an_impossible_class) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {2, 3});
  Tensor labels = constant(graph, i32, {2}, {2, 0});
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> logits{1, -inf, 1, -inf, 3, 3};
  for (Tensor loss : {cross_entropy(x, labels), cross_entropy(x, labels, constant(graph, f64, 0))}) {
    const std::vector<double> losses = values_of(loss, {2, 3}, logits);
    BOOST_TEST(std::fabs(losses[0] - std::log(2.0)) < 1e-14);
    BOOST_TEST(losses[1] == inf);
  }
  BOOST_TEST(values_of(cross_entropy(x, labels, 0.1), {2, 3}, logits)[0] == inf);
}

BOOST_AUTO_TEST_CASE(cross_entropy_of_a_label_outside_is_nan) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {4, 3});
  Tensor labels = constant(graph, i32, {4}, {2, 3, -1, 0});
  const std::vector<double> losses = values_of(cross_entropy(x, labels, 0.1), {4, 3}, std::vector<double>(12, 1.0));
  for (const size_t row : {0u, 3u}) BOOST_TEST(std::isfinite(losses[row]));
  for (const size_t row : {1u, 2u}) BOOST_TEST(std::isnan(losses[row]));
}

// No comparison is added for labels that are known to lie inside the range of the classes.
BOOST_AUTO_TEST_CASE(labels_that_are_known_are_not_asked) {
  const auto comparisons = [](auto make_labels) {
    Graph graph;
    Tensor x = input(graph, "x", f64, {2, 3});
    cross_entropy(x, make_labels(graph));
    return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == Op::ge; });
  };
  BOOST_TEST(comparisons([](Graph& g) { return input(g, "labels", i32, {2}); }) == 1);
  BOOST_TEST(comparisons([](Graph& g) { return index_input(g, "labels", {2}, 3); }) == 0);
  BOOST_TEST(comparisons([](Graph& g) { return argmax(input(g, "logits", f64, {2, 3}), 1); }) == 0);
}

// e^x - 1 loses no digits near 0, where the difference would lose them all.
BOOST_AUTO_TEST_CASE(exponentials_less_one) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {6});
  const std::vector<double> v{-40, -0.7, -1e-12, 1e-12, 0.3, 30};
  const std::vector<double> less_one = values_of(expm1(x), {6}, v), elus = values_of(elu(x), {6}, v);
  for (size_t i = 0; i < v.size(); ++i) {
    const double exact = std::expm1(v[i]);
    BOOST_TEST(std::abs(less_one[i] - exact) <= 1e-15 * std::abs(exact));
    BOOST_TEST(std::abs(elus[i] - (v[i] < 0 ? exact : v[i])) <= 1e-15 * std::abs(v[i]));
  }
}

BOOST_AUTO_TEST_CASE(small_composites) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {2, 2});
  const std::vector<double> v{-3, 4, 0, 0};
  BOOST_TEST(values_of(norm(x, {1}), {2, 2}, v) == (std::vector<double>{5, 0}));
  BOOST_TEST(values_of(clamp(x, -1, 2), {2, 2}, v) == (std::vector<double>{-1, 2, 0, 0}));
  BOOST_TEST(values_of(leaky_relu(x, 0.5), {2, 2}, v) == (std::vector<double>{-1.5, 4, 0, 0}));
  BOOST_TEST(values_of(mse(x, full_like(x, 1)), {2, 2}, v) == (std::vector<double>{12.5, 1}));
  BOOST_TEST(values_of(mean(x), {2, 2}, v) == (std::vector<double>{0.25}));
  BOOST_TEST(values_of(min(x, {0}), {2, 2}, v) == (std::vector<double>{-3, 0}));
  Tensor image = reshape(x, {1, 1, 2, 2});
  BOOST_TEST(values_of(avg_pool2d(image, {.kernel = 2, .stride = 1, .padding = 1}), {2, 2}, v).at(0) == -0.75);
  BOOST_TEST(values_of(global_avg_pool(image), {2, 2}, v) == (std::vector<double>{0.25}));
  BOOST_TEST(values_of(x + iota(graph, f64, 2), {2, 2}, v) == (std::vector<double>{-3, 5, 0, 1}));
  Tensor right = argmax_equals(x, constant(graph, i32, {2}, {1, 1}));
  BOOST_TEST(values_of(right, {2, 2}, v) == (std::vector<double>{1, 0}));
}

// Beside a loop: axes of one block, of whole and of begun ones, of several levels; of integers; an infinity and a NaN
// reach what follows them alone.
BOOST_AUTO_TEST_CASE(cumulative_sums) {
  for (const int64_t extent : {1, 2, 31, 32, 33, 64, 1100}) {
    Graph graph;
    const Tensor x = input(graph, "x", f64, {2, extent, 3});
    std::vector<double> values, expected;
    for (int64_t i = 0; i < 6 * extent; ++i) values.push_back(static_cast<double>(i * 7 % 11) - 4);
    values[static_cast<size_t>(3 * (extent / 2))] = HUGE_VAL;
    values.back() = std::nan("");
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t step = i / 3 % static_cast<size_t>(extent);
      expected.push_back(step == 0 ? values[i] : values[i] + expected[i - 3]);
    }
    const std::vector<double> got = values_of(cumsum(x, 1), {2, extent, 3}, values);
    for (size_t i = 0; i < got.size(); ++i)
      BOOST_TEST((got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))),
                 "extent " << extent << ", element " << i << ": " << got[i] << ", not " << expected[i]);
  }
  Graph graph;
  const Tensor whole = cumsum(constant(graph, i32, {4}, {3, -1, 2, 5}), -1);
  BOOST_TEST(text(whole) == "i32[4]");
  BOOST_TEST(values_of(whole, {}, {}) == (std::vector<double>{3, 2, 4, 9}));
  BOOST_TEST(text(cumsum(input(graph, "low", DType::bf16, {40, 2}, "NC"), 0)) == "bf16[40,2]");
}

BOOST_AUTO_TEST_CASE(a_label_is_among_the_k_greatest_logits) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  struct Row {
    std::vector<double> logits;
    double label;
    int64_t least;  // the least k that finds the label; 5: none does
  };
  const std::vector<Row> rows = {{{3, 1, 2, 0}, 0, 1},         {{3, 1, 2, 0}, 2, 2},      {{3, 1, 2, 0}, 3, 4},
                                 {{1, 1, 1, 1}, 0, 1},         {{1, 1, 1, 1}, 3, 4},      {{0, 2, 1, 2}, 3, 2},
                                 {{-inf, inf, -inf, 5}, 2, 4}, {{inf, inf, 1, -3}, 1, 2}, {{nan, 3, nan, 4}, 3, 3},
                                 {{nan, 3, 0, 4}, 0, 5},       {{3, 1, 2, 0}, -1, 5},     {{3, 1, 2, 0}, 4, 5}};
  Graph graph;
  std::vector<double> logits, labels;
  for (const Row& row : rows) {
    logits.insert(logits.end(), row.logits.begin(), row.logits.end());
    labels.push_back(row.label);
  }
  const auto count = static_cast<int64_t>(rows.size());
  const Tensor x = input(graph, "x", f64, {count, 4}), y = constant(graph, i32, {count}, labels);
  for (int64_t k = 1; k <= 4; ++k) {
    std::vector<double> expected;
    for (const Row& row : rows) expected.push_back(k >= row.least ? 1 : 0);
    BOOST_TEST(values_of(in_top_k(x, y, k), {count, 4}, logits) == expected);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::functions_test
