// Library nodes as the compiler writes them, run by the CPU's library and compared with the graph interpreter.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "graph/infer.h"
#include "runtime/cpu/library.h"
#include "tests/interpreters/schedule_interpreter.h"

namespace kb::library_plan_test {

namespace {

// One convolution: extents, window and the layouts of both activations (a block of 0: logical order).
struct Case {
  DType dtype = DType::f32;
  int64_t n, c, h, w, o, kernel, stride, padding, dilation, groups, block_in, block_out;

  int64_t out(int64_t size) const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  Attrs attrs() const {
    Attrs attrs = {{"stride", Ints{stride, stride}},
                   {"padding", Ints{padding, padding}},
                   {"dilation", Ints{dilation, dilation}},
                   {"groups", groups}};
    if (block_in > 0) attrs.set("block_in", block_in);
    if (block_out > 0) attrs.set("block_out", block_out);
    return attrs;
  }
  std::string text() const {
    return fmt::format("{} n{} c{}/{} {}x{} o{}/{} k{} s{} p{} d{} g{}", name(dtype), n, c, block_in, h, w, o,
                       block_out, kernel, stride, padding, dilation, groups);
  }
};

Type activation(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w, int64_t block) {
  if (block == 0) return {dtype, {n, c, h, w}, ""};
  if (block == c) return {dtype, {n, h, w, c}, ""};
  return {dtype, {n, c / block, h, w, block}, ""};
}

// A graph of inputs and one library node, and what runs it.
struct Harness {
  Graph graph{"one"};
  LibraryContext context;
  Pool pool{2};
  std::mt19937 random{7};
  std::vector<Array> arrays;

  Value add_input(const Type& type) {
    Value value = graph.add(Op::input, {},
                            {{"name", fmt::format("x{}", arrays.size())},
                             {"dtype", type.dtype},
                             {"shape", type.shape},
                             {"names", std::string()}});
    Array array{type, std::vector<double>(static_cast<size_t>(type.elements()))};
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& x : array.data) x = round_to(type.dtype, uniform(random));
    arrays.push_back(std::move(array));
    return value;
  }

  Array run(const Node& node, const Epilogue& epilogue, std::vector<std::vector<std::byte>> in) {
    std::unique_ptr<LibraryOp> op = plan_library(context, graph, node, epilogue, 2);
    std::vector<std::byte> out(static_cast<size_t>(node.type().bytes()), std::byte{0xa5});
    std::vector<std::byte> scratch(op->scratch_bytes() + 64, std::byte{0xa5});  // an arena is not zero either
    std::vector<const void*> inputs;
    for (auto& bytes : in) inputs.push_back(bytes.data());
    void* outputs[] = {out.data()};
    auto aligned = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
    op->run(pool, inputs, outputs, aligned);
    return from_bytes(node.type(), out.data());
  }

  // Returns the weights of `conv` in the form in which its plan reads them.
  std::vector<std::byte> pack(const Node& conv, Value weight, const Array& array, const Dims& x_shape) {
    Attrs attrs = conv.attrs;
    attrs.set("usage", std::string(conv.op == Op::conv2d ? "forward" : "input_grad")).set("x_shape", x_shape);
    Value packed = graph.add(Op::pack_weights, {weight}, attrs);
    const Node& node = graph.node(packed);
    size_t bytes = packed_weight_bytes(context, conv_spec(graph, node));
    if (bytes == 0) return to_bytes(array);
    std::vector<std::byte> in = to_bytes(array), out(bytes, std::byte{0xa5});
    const void* inputs[] = {in.data()};
    void* outputs[] = {out.data()};
    plan_library(context, graph, node, {}, 2)->run(pool, inputs, outputs, nullptr);
    return out;
  }
};

void compare(const std::string& what, const Array& expected, const Array& got) {
  double scale = 1, tolerance = is_low_precision(got.type.dtype) ? 1e-2 : got.type.dtype == DType::f64 ? 1e-13 : 1e-5;
  for (double x : expected.data) scale = std::max(scale, std::abs(x));
  BOOST_TEST(expected.data.size() == got.data.size());
  for (size_t i = 0; i < expected.data.size(); ++i)
    if (!(std::abs(expected.data[i] - got.data[i]) <= tolerance * scale))
      BOOST_FAIL(fmt::format("{}: element {}: expected {}, got {}", what, i, expected.data[i], got.data[i]));
}

void check(Op op, const Case& c) {
  Harness h;
  Type x = activation(c.dtype, c.n, c.c, c.h, c.w, c.block_in);
  Type y = activation(c.dtype, c.n, c.o, c.out(c.h), c.out(c.w), c.block_out);
  Type w{c.dtype, {c.o, c.c / c.groups, c.kernel, c.kernel}, ""};
  Attrs attrs = c.attrs();
  if (op == Op::conv2d_input_grad) attrs.set("input_size", Ints{c.h, c.w}).set("channels", c.c);
  if (op == Op::conv2d_weight_grad) attrs.set("kernel", Ints{c.kernel, c.kernel});
  Value a = h.add_input(op == Op::conv2d_input_grad ? y : x), b = h.add_input(op == Op::conv2d_weight_grad ? y : w);
  Node node = h.graph.node(h.graph.add(op, {a, b}, attrs));
  Array expected = evaluate_node(node, h.arrays)[0];
  std::vector<std::byte> second =
      op == Op::conv2d_weight_grad ? to_bytes(h.arrays[1]) : h.pack(node, b, h.arrays[1], {c.n, c.c, c.h, c.w});
  compare(c.text(), expected, h.run(node, {}, {to_bytes(h.arrays[0]), second}));
}

Case random_case(std::mt19937& random) {
  auto draw = [&](std::initializer_list<int64_t> of) { return of.begin()[random() % of.size()]; };
  Case c{};
  c.dtype = draw({0, 1, 2}) == 0 ? DType::bf16 : draw({0, 1, 2}) == 0 ? DType::f64 : DType::f32;
  c.groups = draw({1, 1, 1, 2, 4});
  c.n = draw({1, 2, 3, 5});
  c.c = draw({8, 16, 32, 48});
  c.o = draw({8, 16, 32, 64});
  c.kernel = draw({1, 2, 3, 5});
  c.stride = draw({1, 1, 2});
  c.padding = draw({0, 1, 2});
  c.dilation = draw({1, 1, 2});
  c.h = draw({9, 10, 13});
  c.w = draw({9, 11, 12});
  c.block_in = draw({0, c.c, 8});
  c.block_out = draw({0, c.o, 8});
  return c;
}

Array matmul_by_hand(Harness& h, const Node& node, bool bias, bool relu) {
  Array product = evaluate_node(node, std::span(h.arrays).first(2))[0];
  int64_t n = node.type().shape.back();
  for (size_t i = 0; i < product.data.size(); ++i) {
    if (bias) product.data[i] += h.arrays[2].data[i % static_cast<size_t>(n)];
    if (relu) product.data[i] = std::max(product.data[i], 0.0);
  }
  return product;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(library_plan)

BOOST_AUTO_TEST_CASE(convolutions_equal_their_interpretation) {
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    Case c = random_case(random);
    for (Op op : {Op::conv2d, Op::conv2d_input_grad, Op::conv2d_weight_grad}) check(op, c);
  }
}

BOOST_AUTO_TEST_CASE(one_channel_is_read_right_in_every_layout) {
  for (int64_t block : {0, 1})
    for (Op op : {Op::conv2d, Op::conv2d_input_grad, Op::conv2d_weight_grad})
      check(op, {DType::f32, 3, 1, 12, 10, 8, 3, 1, 1, 1, 1, block, 8});
}

BOOST_AUTO_TEST_CASE(matmuls_with_epilogues_equal_their_interpretation) {
  for (int which = 0; which < 16; ++which) {
    bool ta = which & 1, tb = which & 2, bias = which & 4, relu = which & 8;
    Harness h;
    Dims a = ta ? Dims{2, 7, 5} : Dims{2, 5, 7}, b = tb ? Dims{2, 9, 7} : Dims{2, 7, 9};
    Value x = h.add_input({DType::f32, a, ""}), y = h.add_input({DType::f32, b, ""});
    Epilogue epilogue;
    if (bias) epilogue.bias = h.add_input({DType::f32, {9}, ""});
    epilogue.relu = relu;
    Node node =
        h.graph.node(h.graph.add(Op::matmul, {x, y}, {{"transpose_a", int64_t{ta}}, {"transpose_b", int64_t{tb}}}));
    std::vector<std::vector<std::byte>> in;
    for (const Array& array : h.arrays) in.push_back(to_bytes(array));
    compare(fmt::format("matmul {}", which), matmul_by_hand(h, node, bias, relu), h.run(node, epilogue, in));
  }
}

BOOST_AUTO_TEST_CASE(a_convolution_adds_bias_and_relu) {
  Harness h;
  Case c{DType::f32, 2, 8, 9, 9, 16, 3, 1, 1, 1, 1, 8, 16};
  Value x = h.add_input(activation(c.dtype, c.n, c.c, c.h, c.w, 8)), w = h.add_input({DType::f32, {16, 8, 3, 3}, ""});
  Epilogue epilogue;
  epilogue.bias = h.add_input({DType::f32, {16}, ""});
  epilogue.relu = true;
  Node node = h.graph.node(h.graph.add(Op::conv2d, {x, w}, c.attrs()));
  Array expected = evaluate_node(node, std::span(h.arrays).first(2))[0];
  for (size_t i = 0; i < expected.data.size(); ++i)
    expected.data[i] = std::max(expected.data[i] + h.arrays[2].data[i % 16], 0.0);
  std::vector<std::byte> weights = h.pack(node, w, h.arrays[1], {2, 8, 9, 9});
  compare(c.text(), expected, h.run(node, epilogue, {to_bytes(h.arrays[0]), weights, to_bytes(h.arrays[2])}));
}

// A column, or a channel, of NaN or infinities passes the relu that is folded into an op as graph/pointwise_ops.inc
// defines relu.
BOOST_AUTO_TEST_CASE(a_folded_relu_keeps_nan) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLosses[] = {kNan, kInfinity, -kInfinity, -1e30, 1e30};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (const Op op : {Op::matmul, Op::conv2d}) {
      const bool is_conv = op == Op::conv2d;
      constexpr int64_t kColumns = 24;
      Harness h;
      const Value x = h.add_input({dtype, is_conv ? Dims{3, 5, 7, 8} : Dims{5, 8}, ""});
      const Value w = h.add_input({dtype, is_conv ? Dims{kColumns, 8, 1, 1} : Dims{8, kColumns}, ""});
      // The weights make each sum of column (or channel) 2 l + 1 come to kLosses[l].
      for (double& v : h.arrays[0].data) v = 1;
      for (size_t l = 0; l < std::size(kLosses); ++l)
        h.arrays[1].data[(2 * l + 1) * (is_conv ? 8 : 1)] = round_to(dtype, kLosses[l]);
      const Case c{dtype, 3, 8, 5, 7, kColumns, 1, 1, 0, 1, 1, 8, kColumns};
      const Node node = h.graph.node(h.graph.add(
          op, {x, w}, is_conv ? c.attrs() : Attrs{{"transpose_a", int64_t{0}}, {"transpose_b", int64_t{0}}}));
      const Array sums = evaluate_node(node, h.arrays)[0];
      const std::vector<std::byte> second =
          is_conv ? h.pack(node, w, h.arrays[1], {3, 8, 5, 7}) : to_bytes(h.arrays[1]);
      const Array got = h.run(node, {.bias = {}, .relu = true, .result = {}}, {to_bytes(h.arrays[0]), second});
      int64_t wrong = 0, nans = 0;
      for (size_t i = 0; i < sums.data.size(); ++i) {
        const double want = sums.data[i] <= 0 ? 0 : sums.data[i], have = got.data[i];
        nans += std::isnan(want);
        wrong += !(std::isnan(want) ? std::isnan(have) : want == have || std::abs(want - have) <= 0.02 * want);
      }
      BOOST_TEST(nans == got.type.elements() / kColumns);
      BOOST_TEST(wrong == 0, fmt::format("{} of {}: {} elements differ", name(op), name(dtype), wrong));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::library_plan_test
