
#include "tests/graph/interpreted.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "graph/infer.h"
#include "tests/support/says.h"

namespace kb::interpreter_test {

BOOST_AUTO_TEST_SUITE(interpreter)

BOOST_AUTO_TEST_CASE(movement) {
  const Case c({array({2, 3}, {1, 2, 3, 4, 5, 6}), array({3}, {7, 8, 9})});
  c.check(transpose(c.x[0], {1, 0}), {3, 2}, {1, 4, 2, 5, 3, 6});
  c.check(broadcast_to(c.x[1], {2, 3}), {2, 3}, {7, 8, 9, 7, 8, 9});
  c.check(broadcast_axes(c.x[1], {3, 2}, {0}), {3, 2}, {7, 7, 8, 8, 9, 9});
  c.check(reshape(c.x[0], {3, -1}), {3, 2}, {1, 2, 3, 4, 5, 6});
  c.check(slice(c.x[0], {0, 0}, {2, 3}, {1, 2}), {2, 2}, {1, 3, 4, 6});
  c.check(slice(c.x[0], 1, 1, 2), {2, 1}, {2, 5});
  c.check(pad(c.x[1], {1}, {2}, 5, {1}), {8}, {5, 7, 5, 8, 5, 9, 5, 5});
  c.check(concat({c.x[0], c.x[0]}, 1), {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  c.check(concat({slice(c.x[0], 0, 1, 2), c.x[0]}, 0), {3, 3}, {4, 5, 6, 1, 2, 3, 4, 5, 6});
}

BOOST_AUTO_TEST_CASE(bits_of_bytes) {
  Case c({array({2, 16}, {1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,  //
                          1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0})});
  const Tensor bits(c.graph, c.graph.add(Op::pack_bits, {(c.x[0] > 0.0).value()}));
  BOOST_TEST((bits.dtype() == DType::u8));
  c.check(bits, {2, 2}, {0x85, 0, 0xff, 2});
  const Tensor back(c.graph, c.graph.add(Op::unpack_bits, {bits.value()}));
  BOOST_TEST((back.dtype() == DType::boolean));
  c.check(back, {2, 16}, c.value(c.x[0]).data);
  for (const Type& odd : {Type{DType::boolean, {2, 12}, ""}, {DType::boolean, {}, ""}, {DType::u8, {2, 16}, ""}})
    BOOST_CHECK_THROW(infer(Op::pack_bits, std::vector{odd}, {}), Mistake);
  for (const Type& odd : {Type{DType::boolean, {2, 2}, ""}, {DType::u8, {}, ""}})
    BOOST_CHECK_THROW(infer(Op::unpack_bits, std::vector{odd}, {}), Mistake);
}

BOOST_AUTO_TEST_CASE(reductions) {
  const Case c({array({2, 3}, {1, 5, 3, 4, 5, 0})});
  const Tensor x = c.x[0];
  c.check(sum(x, {0}), {3}, {5, 10, 3});
  c.check(sum(x, {1}, true), {2, 1}, {9, 9});
  c.check(sum(x), {}, {18});
  c.check(mean(x, {1}), {2}, {3, 3});
  c.check(max(x, {0}), {3}, {4, 5, 3});
  c.check(min(x), {}, {0});
  c.check(prod(x + 1.0, {0}), {3}, {10, 36, 4});
  c.check(argmax(x, 0), {3}, {1, 0, 0});  // the first of equals
  c.check(argmax(x, 1), {2}, {1, 1});
  const Moments m = moments(x, {1});
  c.check(m.mean, {2}, {3, 3});
  c.check(m.variance, {2}, {8.0 / 3, 14.0 / 3});
  c.check(norm(x, {0}), {3}, {std::sqrt(17.0), std::sqrt(50.0), 3});
}

// (2^31 - 1)^3, which no double holds, is 2^31 - 1 modulo 2^32.
BOOST_AUTO_TEST_CASE(a_product_of_integers_wraps) {
  Graph g;
  const Value product = prod(constant(g, DType::i32, {3}, {2147483647, 2147483647, 2147483647})).value();
  BOOST_TEST(interpret_values(g, {}, std::span(&product, 1))[0].data[0] == 2147483647);
}

BOOST_AUTO_TEST_CASE(pooling) {
  const Case c({array({1, 1, 3, 3}, {1, 2, 3, 4, 9, 9, 7, 8, 5})});
  const Window window{.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}};
  const MaxPool pool = max_pool_with_index(c.x[0], window, {2, 3});
  c.check(pool.value, {1, 1, 2, 2}, {1, 3, 7, 9});
  c.check(pool.index, {1, 1, 2, 2}, {3, 3, 3, 0});
  c.check(avg_pool2d(c.x[0], {.kernel = 2, .padding = 1}), {1, 1, 2, 2}, {0.25, 1.25, 2.75, 7.75});
  c.check(global_avg_pool(c.x[0]), {1, 1}, {48.0 / 9});
}

// The gradient of a linear map is its adjoint: <map(x), y> = <x, gradient(y)>.
BOOST_AUTO_TEST_CASE(pooling_adjoints) {
  Case c({wave({2, 3, 7, 5})});
  Graph& g = c.graph;
  const Attrs window{{"kernel", Ints{3, 2}},
                     {"stride", Ints{2, 1}},
                     {"padding", Ints{1, 0}},
                     {"dilation", Ints{1, 2}},
                     {"axes", Ints{2, 3}}};
  const Tensor pooled(g, g.add(Op::sum_pool, {c.x[0].value()}, window));
  Attrs grad = window;
  grad.set("input_size", Ints{7, 5});
  const Tensor y = sin(pooled * 3.0), back(g, g.add(Op::sum_pool_grad, {y.value()}, grad));
  BOOST_TEST(dot(c.value(pooled), c.value(y)) == dot(c.value(c.x[0]), c.value(back)),
             boost::test_tools::tolerance(1e-12));

  const MaxPool pool =
      max_pool_with_index(c.x[0], {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}, {2, 3});
  const Tensor z = sin(pool.value * 3.0);
  const Tensor taken(g, g.add(Op::take_at_index, {c.x[0].value(), pool.index.value()}, window));
  BOOST_TEST(c.value(taken).data == c.value(pool.value).data);
  const Tensor scattered(g, g.add(Op::max_pool_grad, {z.value(), pool.index.value()}, grad));
  BOOST_TEST(dot(c.value(taken), c.value(z)) == dot(c.value(c.x[0]), c.value(scattered)),
             boost::test_tools::tolerance(1e-12));
}

// Two windows [3] over 4 elements with a padding of 1 see elements (-, 0, 1) and (1, 2, 3).
BOOST_AUTO_TEST_CASE(an_index_that_names_no_element_of_x_takes_and_adds_nothing) {
  const Attrs window{{"kernel", Ints{1, 3}},
                     {"stride", Ints{1, 2}},
                     {"padding", Ints{0, 1}},
                     {"dilation", Ints{1, 1}},
                     {"axes", Ints{0, 1}}};
  Attrs grad = window;
  grad.set("input_size", Ints{1, 4});
  const auto check = [&](const Reals& index, const Reals& taken, const Reals& dx) {
    Case c({array({1, 4}, {1, 2, 3, 4}, DType::i32), array({1, 2}, {10, 20}), array({1, 2}, index, DType::u8)});
    const auto add = [&](Op op, size_t in, const Attrs& attrs) {
      return Tensor(c.graph, c.graph.add(op, {c.x[in].value(), c.x[2].value()}, attrs));
    };
    c.check(add(Op::take_at_index, 0, window), {1, 2}, taken);
    c.check(add(Op::max_pool_grad, 1, grad), {1, 4}, dx);
  };
  check({2, 0}, {2, 2}, {0, 30, 0, 0});
  check({1, 2}, {1, 4}, {10, 0, 0, 20});
  check({0, 3}, {0, 0}, {0, 0, 0, 0});
  check({255, 1}, {0, 3}, {0, 0, 20, 0});
}

BOOST_AUTO_TEST_CASE(matrix_products) {
  const Case c({array({2, 3}, {1, 2, 3, 4, 5, 6}), array({3, 2}, {1, -1, 0, 2, 1, 1}), array({2, 2}, {1, 2, 3, 4})});
  const Reals expected = {4, 6, 10, 12};
  c.check(matmul(c.x[0], c.x[1]), {2, 2}, expected);
  c.check(matmul(transpose(c.x[0], {1, 0}), c.x[1], true), {2, 2}, expected);
  c.check(matmul(c.x[0], transpose(c.x[1], {1, 0}), false, true), {2, 2}, expected);
  c.check(matmul(transpose(c.x[0], {1, 0}), transpose(c.x[1], {1, 0}), true, true), {2, 2}, expected);
  const Tensor batch = concat({reshape(c.x[2], {1, 2, 2}), reshape(c.x[2] * 2.0, {1, 2, 2})}, 0);
  c.check(matmul(batch, batch), {2, 2, 2}, {7, 10, 15, 22, 28, 40, 60, 88});
}

// The definition, with group g, C channels per group, stride s, padding p and dilation d:
// y[n,o,h,w] = sum over c, kh, kw of x[n, g C + c, h s - p + kh d, w s - p + kw d] weight[o, c, kh, kw].
BOOST_AUTO_TEST_CASE(convolution_by_definition) {
  const Case c({wave({2, 4, 6, 7}), wave({6, 2, 3, 2})});
  const Window window{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}};
  const Array y = c.value(convolution(c.x[0], c.x[1], window, 2));
  const Dims shape = {2, 6, 3, 9};
  BOOST_TEST(y.type.shape == shape);
  const auto at = [](const Array& a, int64_t i, int64_t j, int64_t k, int64_t l) {
    const Dims& s = a.type.shape;
    return a.data[static_cast<size_t>(((i * s[1] + j) * s[2] + k) * s[3] + l)];
  };
  for (int64_t i = 0; i < y.type.elements(); ++i) {
    const int64_t w = i % 9, h = i / 9 % 3, o = i / 27 % 6, n = i / 162;
    double sum = 0;
    for (int64_t k = 0; k < 2 * 3 * 2; ++k) {
      const int64_t ch = k / 6, kh = k / 2 % 3, kw = k % 2, ih = h * 2 - 1 + kh, iw = w - 2 + kw * 2;
      if (ih < 0 || ih >= 6 || iw < 0 || iw >= 7) continue;
      sum += at(c.bindings.at("a"), n, o / 3 * 2 + ch, ih, iw) * at(c.bindings.at("b"), o, ch, kh, kw);
    }
    BOOST_TEST(std::abs(y.data[static_cast<size_t>(i)] - sum) <= 1e-14);
  }
  // All taps but the middle one lie outside of an image of one pixel.
  const Case one({array({1, 2, 1, 1}, {3, 5}), wave({1, 2, 3, 3})});
  const Reals& taps = one.bindings.at("b").data;
  one.check(convolution(one.x[0], one.x[1], {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}), {1, 1, 1, 1},
            {3 * taps[4] + 5 * taps[13]});
}

BOOST_AUTO_TEST_CASE(convolution_adjoints) {
  for (const int64_t groups : {1, 2}) {
    for (const int64_t stride : {1, 2, 3}) {
      const Case c({wave({2, 4, 7, 6}), wave({6, 4 / groups, 3, 2})});
      const Window window{.kernel = {3, 2}, .stride = {stride, 1}, .padding = {2, 1}, .dilation = {2, 1}};
      const Tensor y = convolution(c.x[0], c.x[1], window, groups), dy = sin(y * 2.0);
      const Tensor dx = convolution_input_grad(dy, c.x[1], window, groups, {7, 6}, 4);
      const Tensor dw = convolution_weight_grad(c.x[0], dy, window, groups);
      const double expected = dot(c.value(y), c.value(dy));
      BOOST_TEST(dot(c.value(c.x[0]), c.value(dx)) == expected, boost::test_tools::tolerance(1e-12));
      BOOST_TEST(dot(c.value(c.x[1]), c.value(dw)) == expected, boost::test_tools::tolerance(1e-12));
    }
  }
}

// A physical layout changes where the numbers lie, not what they are.
BOOST_AUTO_TEST_CASE(convolution_in_blocked_layouts) {
  const Case c({wave({2, 8, 5, 5}), wave({4, 8, 3, 3})});
  const Window window{.kernel = {3, 3}, .padding = {1, 1}};
  const Tensor x = c.x[0], w = c.x[1], y = convolution(x, w, window);
  const Tensor nhwc = transpose(x, {0, 2, 3, 1});
  const Tensor blocked = transpose(reshape(x, {2, 2, 4, 5, 5}), {0, 1, 3, 4, 2});
  const auto conv = [&](Op op, const Tensor& a, const Tensor& b, int64_t in, int64_t out) {
    Attrs attrs{{"stride", Ints{1, 1}}, {"padding", Ints{1, 1}}, {"dilation", Ints{1, 1}},
                {"groups", int64_t{1}}, {"block_in", in},        {"block_out", out}};
    if (op == Op::conv2d_input_grad) attrs.set("input_size", Ints{5, 5}).set("channels", int64_t{8});
    if (op == Op::conv2d_weight_grad) attrs.set("kernel", Ints{3, 3});
    Graph& g = x.graph();
    return Tensor(g, g.add(op, {a.value(), b.value()}, attrs));
  };
  const Reals expected = c.value(y).data;
  const Tensor to_nchw = transpose(conv(Op::conv2d, nhwc, w, 8, 4), {0, 3, 1, 2});
  BOOST_TEST(c.value(to_nchw).data == expected);
  const Tensor y_blocked = conv(Op::conv2d, blocked, w, 4, 2);
  const Tensor unblocked = reshape(transpose(y_blocked, {0, 1, 4, 2, 3}), {2, 4, 5, 5});
  BOOST_TEST(c.value(unblocked).data == expected);

  const Tensor dx = convolution_input_grad(y, w, window, 1, {5, 5}, 8), dw = convolution_weight_grad(x, y, window, 1);
  const Tensor dx_blocked = conv(Op::conv2d_input_grad, y_blocked, w, 4, 2);
  const Tensor dx_back = reshape(transpose(dx_blocked, {0, 1, 4, 2, 3}), {2, 8, 5, 5});
  BOOST_TEST(c.value(dx_back).data == c.value(dx).data);
  BOOST_TEST(c.value(conv(Op::conv2d_weight_grad, blocked, y_blocked, 4, 2)).data == c.value(dw).data);
}

// A convolution and its gradients give equal values with filters in the layout (O, H, W, I).
BOOST_AUTO_TEST_CASE(convolution_with_filter_channels_last) {
  const Case c({wave({2, 4, 5, 5}), wave({6, 2, 3, 2})});
  const Window window{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}};
  const Tensor x = c.x[0], w = c.x[1], y = convolution(x, w, window, 2), last = transpose(w, {0, 2, 3, 1});
  const auto conv = [&](Op op, const Tensor& a, const Tensor& b) {
    Attrs attrs{{"stride", Ints{2, 1}},   {"padding", Ints{1, 1}},     {"dilation", Ints{1, 1}},
                {"groups", int64_t{2}},   {"kernel", Ints{3, 2}},      {"input_size", Ints{5, 5}},
                {"channels", int64_t{4}}, {"weights_last", int64_t{1}}};
    Graph& g = x.graph();
    return Tensor(g, g.add(op, {a.value(), b.value()}, attrs));
  };
  const auto same = [&](const Tensor& a, const Tensor& b) { BOOST_TEST(c.value(a).data == c.value(b).data); };
  same(conv(Op::conv2d, x, last), y);
  same(conv(Op::conv2d_input_grad, y, last), convolution_input_grad(y, w, window, 2, {5, 5}, 4));
  same(transpose(conv(Op::conv2d_weight_grad, x, y), {0, 3, 1, 2}), convolution_weight_grad(x, y, window, 2));
}

BOOST_AUTO_TEST_CASE(indexed) {
  const Case c({array({3, 2}, {1, 2, 3, 4, 5, 6}), array({2, 2}, {2, 0, 2, 2}, DType::i32),
                array({4}, {1, 0, 3, 2}, DType::i32)});
  const Tensor rows = gather(c.x[0], c.x[1]);
  c.check(rows, {2, 2, 2}, {5, 6, 1, 2, 5, 6, 5, 6});
  c.check(scatter_add(c.x[1], rows, 4), {4, 2}, {1, 2, 0, 0, 15, 18, 0, 0});
  const IndexOrder sorted = index_order(c.x[1], 4);
  c.check(sorted.order, {4}, {1, 0, 2, 3});
  c.check(sorted.starts, {5}, {0, 1, 1, 4, 4});
  c.check(one_hot(c.x[2], 4), {4, 4}, {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0});
}

// An index outside of the table reads NaN, or 0 from a table of integers; scatter_add adds nothing there, and one_hot
// has no 1.
BOOST_AUTO_TEST_CASE(indices_outside) {
  const Case c({array({3, 1}, {1, 2, 3}), array({4}, {1, -1, 3, 2}, DType::i32), array({4, 1}, {1, 2, 4, 8})});
  const Array rows = c.value(gather(c.x[0], c.x[1]));
  BOOST_TEST((rows.data[0] == 2 && std::isnan(rows.data[1]) && std::isnan(rows.data[2]) && rows.data[3] == 3));
  c.check(gather(cast(c.x[0], DType::u8), c.x[1]), {4, 1}, {2, 0, 0, 3});
  c.check(scatter_add(c.x[1], c.x[2], 3), {3, 1}, {0, 1, 8});
  c.check(index_order(c.x[1], 3).order, {4}, {0, 3, 1, 2});
  c.check(index_order(c.x[1], 3).starts, {4}, {0, 0, 1, 2});
  c.check(one_hot(c.x[1], 3), {4, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
}

BOOST_AUTO_TEST_CASE(an_index_input_refuses_numbers_outside) {
  Graph g;
  const Tensor labels = index_input(g, "labels", {3}, 5);
  const Value v = labels.value();
  const auto read = [&](double number) {
    return interpret_values(g, {{"labels", array({3}, {0, number, 4}, DType::i32)}}, std::span(&v, 1))[0].data[1];
  };
  BOOST_TEST(read(4) == 4);
  for (const double number : {-1.0, 5.0}) BOOST_CHECK_EXCEPTION(read(number), Error, test::says("expected 0 to 4"));
}

// NaN wins every comparison of sizes, and the first of several NaN counts.
BOOST_AUTO_TEST_CASE(nan_is_the_greatest_and_the_least) {
  const double nan = std::nan("");
  const Case c(
      {array({4, 3}, {nan, 1, 2, 1, nan, nan, nan, nan, nan, 3, 1, 3}), array({1, 1, 2, 3}, {1, 5, nan, 7, nan, 2})});
  c.check(argmax(c.x[0], 1), {4}, {0, 1, 0, 0});
  for (const Tensor& extreme : {max(c.x[0], {1}), min(c.x[0], {1})}) {
    const Array got = c.value(extreme);
    for (size_t i = 0; i < 3; ++i) BOOST_TEST(std::isnan(got.data[i]));
    BOOST_TEST(!std::isnan(got.data[3]));
  }
  const MaxPool pool = max_pool_with_index(c.x[1], {.kernel = {2, 2}}, {2, 3});
  c.check(pool.index, {1, 1, 1, 2}, {3, 1});
  for (const double value : c.value(pool.value).data) BOOST_TEST(std::isnan(value));
}

BOOST_AUTO_TEST_CASE(floats_become_the_nearest_integer_there_is) {
  const double inf = std::numeric_limits<double>::infinity();
  const Case c({array({9}, {std::nan(""), inf, -inf, -1.9, 255.9, 256, 3e9, -3e9, 1e30})});
  constexpr double kMost = 2147483647;
  c.check(cast(c.x[0], DType::i32), {9}, {0, kMost, -kMost - 1, -1, 255, 256, kMost, -kMost - 1, kMost});
  c.check(cast(c.x[0], DType::u32), {9}, {0, 4294967295, 0, 0, 255, 256, 3e9, 0, 4294967295});
  c.check(cast(c.x[0], DType::u8), {9}, {0, 255, 0, 0, 255, 255, 255, 0, 255});
  c.check(cast(c.x[0], DType::boolean), {9}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
}

BOOST_AUTO_TEST_CASE(crops) {
  const Case c({array({2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                array({2, 3}, {0, 0, 0, 0, 0, 1}, DType::i32), array({2, 3}, {-1, 1, 0, 1, -1, 5}, DType::i32)});
  c.check(crop(c.x[0], c.x[1], {2, 3}), {2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 9, 8, 7, 12, 11, 10});
  c.check(crop(c.x[0], c.x[2], {2, 3}), {2, 1, 2, 3}, {0, 0, 0, 2, 3, 0, 11, 10, 0, 0, 0, 0});
  c.check(crop(c.x[0], c.x[2], {1, 4}), {2, 1, 1, 4}, {0, 0, 0, 0, 12, 11, 10, 0});
}

BOOST_AUTO_TEST_CASE(integers_wrap) {
  const Case c({array({3}, {4294967295, 65537, 3}, DType::u32), array({3}, {2, 65537, 5}, DType::u32),
                array({3}, {2147483647, -7, 100}, DType::i32), array({3}, {1, 2, 3}, DType::i32)});
  c.check(c.x[0] * c.x[1], {3}, {4294967294, 131073, 15});
  c.check(c.x[0] + c.x[1], {3}, {1, 131074, 8});
  c.check(mul_high(c.x[0], c.x[1]), {3}, {1, 1, 0});
  c.check(shift_left(c.x[0], c.x[1]), {3}, {4294967292, 0, 96});
  c.check(shift_right(c.x[0], 31.0), {3}, {1, 0, 0});
  c.check(bit_xor(c.x[0], c.x[1]), {3}, {4294967293, 0, 6});
  c.check(c.x[2] + c.x[3], {3}, {-2147483648.0, -5, 103});
  c.check(c.x[2] * c.x[3], {3}, {2147483647, -14, 300});
  c.check(cast(c.x[2], DType::u8), {3}, {255, 249, 100});
  c.check(cast(c.x[2], DType::boolean), {3}, {1, 1, 1});
}

BOOST_AUTO_TEST_CASE(each_node_rounds_to_its_dtype) {
  const Case c({array({2}, {1.0f / 3, 1}, DType::f32)});
  const Tensor third = c.x[0] * (1.0 / 3);
  c.check(
      third, {2},
      {static_cast<float>(static_cast<double>(1.0f / 3) * static_cast<double>(static_cast<float>(1.0 / 3))), 1.0f / 3},
      0);
  const Tensor low = cast(c.x[0], DType::bf16);
  c.check(low, {2}, {0.333984375, 1}, 0);
  BOOST_TEST(c.value(low, {.round = false}).data[0] == c.bindings.at("a").data[0]);
}

BOOST_AUTO_TEST_CASE(means_and_norms_of_16_bits_are_of_sums_in_32) {
  const Case c({array({1, 70000}, Reals(70000, 100.0), DType::f16), array({4}, {300, -400, 0, 0}, DType::f16)});
  c.check(mean(c.x[0]), {}, {100});
  c.check(mean(c.x[0], {1}, true), {1, 1}, {100});
  c.check(norm(c.x[1]), {}, {500});
  BOOST_TEST((norm(c.x[1]).dtype() == DType::f16));
  c.check(avg_pool2d(reshape(c.x[0], {1, 1, 250, 280}), {.kernel = 250}), {1, 1, 1, 1}, {100});
  c.check(avg_pool1d(reshape(c.x[0], {1, 1, 70000}), {.kernel = 1000, .stride = 70000}), {1, 1, 1}, {100});
}

BOOST_AUTO_TEST_CASE(bindings_are_checked) {
  Case c({array({2}, {1, 2})});
  const Tensor y = c.x[0] + 1.0;
  c.graph.outputs.push_back({"y", y.value(), Merge::sum});
  input(c.graph, "unused", DType::f32, {3}, "");
  BOOST_TEST(interpret(c.graph, c.bindings).outputs.at("y").data == Reals({2, 3}));
  BOOST_TEST(test::error_of([&] { interpret(c.graph, {}); }) ==
             "interpret: nothing is bound to input \"a\"\n  expected f64[2]\n  got      no binding");
  BOOST_TEST(test::error_of([&] {
               interpret(c.graph, {{"a", array({3}, {1, 2, 3})}});
             }) ==
             "interpret: the binding of input \"a\" has another type\n  expected f64[2]\n  got      f64[3] with 3 "
             "elements");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::interpreter_test
