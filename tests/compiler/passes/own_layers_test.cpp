// Tests the tutorial's layers of one's own against closed forms.
#include "recipes/tutorial/own_layers.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/interpreter.h"

namespace kb::own_layers_test {
namespace {

using Reals = std::vector<double>;
const auto kClose = boost::test_tools::tolerance(1e-12);

Array array(Dims shape, Reals data) { return {{DType::f64, std::move(shape), ""}, std::move(data)}; }

Reals values(Tensor tensor, const Bindings& bindings) {
  const Value value = tensor.value();
  return interpret_values(tensor.graph(), bindings, {&value, 1}).at(0).data;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(own_layers)

BOOST_AUTO_TEST_CASE(weight_norm_has_rows_of_length_g) {
  Graph graph;
  const Tensor y = weight_norm_linear("fc", input(graph, "x", DType::f64, {1, 2}), 2);
  const Bindings bindings = {{"x", array({1, 2}, {1, 2})},
                             {"fc.weight_v", array({2, 2}, {3, 4, -6, 8})},
                             {"fc.weight_g", array({2, 1}, {5, 1})}};
  BOOST_TEST(values(y, bindings) == (Reals{3 + 8, -0.6 + 1.6}), kClose << boost::test_tools::per_element());
}

// Against seven loops over the indices of the definition.
BOOST_AUTO_TEST_CASE(conv3d_sums_over_three_axes) {
  constexpr int64_t kIn = 2, kOut = 3, kDepth = 5, kSide = 4, kernel = 3, stride = 2, padding = 1, kBig = 3, kSmall = 2;
  Reals x(2 * kIn * kDepth * kSide * kSide), w(kOut * kIn * 27), expected;
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.7 * static_cast<double>(i));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::cos(2.3 * static_cast<double>(i));
  const auto x_at = [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t v) {
    const bool inside = std::min({d, h, v}) >= 0 && d < kDepth && std::max(h, v) < kSide;
    return inside ? x[static_cast<size_t>((((n * kIn + c) * kDepth + d) * kSide + h) * kSide + v)] : 0;
  };
  const auto y_at = [&](int64_t n, int64_t o, int64_t d, int64_t h, int64_t v) {
    double total = 0;
    for (int64_t tap = 0; tap < kIn * 27; ++tap)
      total += w[static_cast<size_t>(o * kIn * 27 + tap)] * x_at(n, tap / 27, stride * d + tap / 9 % 3 - padding,
                                                                 stride * h + tap / 3 % 3 - padding,
                                                                 stride * v + tap % 3 - padding);
    return total;
  };
  for (int64_t i = 0; i < 2 * kOut * kBig * kSmall * kSmall; ++i)
    expected.push_back(y_at(i / (kOut * kBig * 4), i / (kBig * 4) % kOut, i / 4 % kBig, i / 2 % 2, i % 2));
  Graph graph;
  const Dims shape = {2, kIn, kDepth, kSide, kSide};
  const Tensor y = conv3d("conv", input(graph, "x", DType::f64, shape), kOut, kernel, stride, padding);
  BOOST_TEST(y.shape() == (Dims{2, kOut, kBig, kSmall, kSmall}));
  const Bindings bindings = {{"x", array(shape, x)}, {"conv.weight", array({kOut, kIn, 3, 3, 3}, w)}};
  BOOST_TEST(values(y, bindings) == expected, kClose << boost::test_tools::per_element());
}

// The critic w . x has the slope w everywhere: the penalty is (|w| - 1)^2, and its derivative 2 (|w| - 1) w / |w|.
BOOST_AUTO_TEST_CASE(gradient_penalty_of_a_plane) {
  Graph graph;
  const Tensor x = input(graph, "x", DType::f64, {3, 2}), w = input(graph, "w", DType::f64, {1, 2});
  const Tensor penalty = gradient_penalty(reshape(matmul(x, w, false, true), {3}), x);
  const Bindings bindings = {{"x", array({3, 2}, {1, 2, 3, 4, 5, 6})}, {"w", array({1, 2}, {3, 4})}};
  BOOST_TEST(values(penalty, bindings) == (Reals{16, 16, 16}));
  const Reals slope = values(gradients(mean(penalty), {w})[0], bindings);
  BOOST_TEST(slope[0] == 8 * 0.6, kClose);
  BOOST_TEST(slope[1] == 8 * 0.8, kClose);
}

BOOST_AUTO_TEST_CASE(a_recurrence_is_its_loop) {
  for (const int64_t length : {1, 2, 7, 8}) {
    constexpr int64_t kWide = 3;
    Reals a, b, expected(static_cast<size_t>(2 * length * kWide));
    for (size_t i = 0; i < expected.size(); ++i) {
      a.push_back(std::sin(1.7 * static_cast<double>(i)));
      b.push_back(std::cos(2.3 * static_cast<double>(i)));
      const bool is_first = static_cast<int64_t>(i) / kWide % length == 0;
      expected[i] = b[i] + (is_first ? 0 : a[i] * expected[i - kWide]);
    }
    Graph graph;
    const Dims shape = {2, length, kWide};
    const Tensor h = linear_recurrence(input(graph, "a", DType::f64, shape), input(graph, "b", DType::f64, shape));
    BOOST_TEST(values(h, {{"a", array(shape, a)}, {"b", array(shape, b)}}) == expected,
               kClose << boost::test_tools::per_element());
  }
}

// The loss (w1^2 + 4 w2^2) / 2 has the gradient (w1, 4 w2), here (3, 4) of length 5: the point uphill is w + (0.6,
// 0.8), where the gradient is (3.6, 7.2). It reaches w as if w were there.
BOOST_AUTO_TEST_CASE(uphill_lies_along_the_gradient) {
  Graph graph;
  const auto loss = [&] {
    const Tensor w1 = parameter(graph, "w1", Role::weight, {DType::f64, {1}, ""}, {}),
                 w2 = parameter(graph, "w2", Role::weight, {DType::f64, {1}, ""}, {});
    return sum(w1 * w1 + 4.0 * w2 * w2) / 2.0;
  };
  Tensor here, there;
  {
    const Scope scope("net");
    here = loss();
  }
  const std::vector<Tensor> w = parameters_under(graph, "net"), moved = uphill(here, w, 1);
  {
    const Reuse again("net");
    const Replaced other(w, moved);
    there = loss();
  }
  const Bindings bindings = {{"net.w1", array({1}, {3})}, {"net.w2", array({1}, {1})}};
  BOOST_TEST(values(moved[0], bindings) == Reals{3.6}, kClose << boost::test_tools::per_element());
  BOOST_TEST(values(moved[1], bindings) == Reals{1.8}, kClose << boost::test_tools::per_element());
  const std::vector<Tensor> slopes = gradients(there, w);
  BOOST_TEST(values(slopes[0], bindings) == Reals{3.6}, kClose << boost::test_tools::per_element());
  BOOST_TEST(values(slopes[1], bindings) == Reals{7.2}, kClose << boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_centre_follows_the_mean) {
  Graph graph;
  const Tensor y = centred("centre", input(graph, "x", DType::f64, {2, 1}), 0.75);
  graph.outputs.push_back({"y", y.value()});
  const Interpretation step = interpret(graph, {{"x", array({2, 1}, {3, 5})}, {"centre", array({1}, {2})}});
  BOOST_TEST(step.outputs.at("y").data == (Reals{1, 3}));
  BOOST_TEST(step.writes.at("centre").data == (Reals{0.75 * 2 + 0.25 * 4}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::own_layers_test
