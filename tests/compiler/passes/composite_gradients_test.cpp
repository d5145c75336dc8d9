// Tests gradients of functions that are composed of others against finite differences.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/compiler/gradient_case.h"

namespace kb::composite_gradients_test {

using namespace kb::test;

namespace {

constexpr double kTolerance = 1e-6;

template <class Build>
void check(Build&& build) {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    GradientCase c(seed);
    const std::vector<Tensor> results = build(c);
    const double error = c.relative_error(results);
    BOOST_TEST(error <= kTolerance, "seed " << seed << ": relative error " << error);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradients_of_composites)

BOOST_AUTO_TEST_CASE(gather_along_an_axis) {
  check([](GradientCase& c) {
    const Dims shape = c.shape(3);
    const int64_t axis = c.integer(-3, 2);
    const Tensor indices = c.indices({c.integer(1, 4), 2}, shape[static_cast<size_t>(axis < 0 ? axis + 3 : axis)]);
    return std::vector<Tensor>{gather(c.x(shape), indices, axis)};
  });
}

BOOST_AUTO_TEST_CASE(the_k_greatest_and_sorted_elements) {
  check([](GradientCase& c) {
    const Dims shape = c.shape(3);
    const int64_t axis = c.integer(-3, 2), extent = shape[static_cast<size_t>(axis < 0 ? axis + 3 : axis)];
    const Tensor x = c.x(shape), value = topk(x, c.integer(1, extent), axis).value;
    return std::vector<Tensor>{value * c.fixed(value.shape()), sort(x, axis).value * c.fixed(shape)};
  });
}

// The axis is long enough for sort to sort it by digits, and for cumsum to cut it into blocks.
BOOST_AUTO_TEST_CASE(long_axes) {
  GradientCase c(0);
  const Tensor x = c.x({2, 70});
  const double error = c.relative_error({cumsum(x, 1) * c.fixed({2, 70})});
  BOOST_TEST(error <= kTolerance);
  Graph graph;
  const Tensor row = input(graph, "x", DType::f32, {300});
  const Value slope = gradients(sum(topk(row, 20).value * iota(graph, DType::f32, 20)), {row})[0].value();
  std::vector<double> values, expected(300, 0);
  for (size_t i = 0; i < 300; ++i) values.push_back(static_cast<double>(i * 7 % 300));
  for (size_t i = 0; i < 300; ++i) expected[i] = values[i] > 279 ? 299 - values[i] : 0;
  const std::vector<double> got =
      interpret_values(graph, {{"x", {{DType::f32, {300}, ""}, values}}}, {&slope, 1})[0].data;
  BOOST_TEST(got == expected);
}

// Neither a tie nor an infinity shares the gradient out or makes it NaN.
BOOST_AUTO_TEST_CASE(a_gradient_goes_to_the_elements_taken) {
  Graph graph;
  const Tensor x = input(graph, "x", DType::f64, {5});
  const auto slope_of = [&](Tensor taken) {
    return gradients(sum(taken * constant(graph, DType::f64, {3}, {1, 2, 3})), {x})[0].value();
  };
  const Value slope = slope_of(topk(x, 3).value), of_sorted = slope_of(slice(sort(x, 0, true).value, 0, 0, 3));
  const auto slope_at = [&](const std::vector<double>& values) {
    const auto at = [&](const Value& v) {
      return interpret_values(graph, {{"x", {{DType::f64, {5}, ""}, values}}}, {&v, 1})[0].data;
    };
    BOOST_TEST(at(of_sorted) == at(slope));
    return at(slope);
  };
  BOOST_TEST(slope_at({4, 7, 7, 4, 4}) == (std::vector<double>{3, 1, 2, 0, 0}));
  BOOST_TEST(slope_at({-HUGE_VAL, 1, -HUGE_VAL, HUGE_VAL, -HUGE_VAL}) == (std::vector<double>{3, 2, 0, 1, 0}));
}

BOOST_AUTO_TEST_CASE(flips) {
  check([](GradientCase& c) {
    const Dims shape = c.shape(3);
    const Tensor x = c.x(shape), weights = c.fixed(shape);
    return std::vector<Tensor>{flip(x, c.axes(3)) * weights, flip(x, {})};
  });
}

BOOST_AUTO_TEST_CASE(sums_of_windows) {
  check([](GradientCase& c) {
    const Window window{{c.integer(1, 3), c.integer(1, 3)},
                        {c.integer(1, 3), c.integer(1, 3)},
                        {c.integer(0, 2), c.integer(0, 2)},
                        {1, 1}};
    return std::vector<Tensor>{sum_pool(c.x({2, 2, 5, 4}), window), sum_pool(c.x({2, 5, 4, 3}), window, {1, 2})};
  });
}

BOOST_AUTO_TEST_CASE(enlarged_images) {
  check([](GradientCase& c) {
    const Sides factor(c.integer(1, 3), c.integer(1, 3));
    return std::vector<Tensor>{upsample2d(c.x({2, 1, 2, 3}), factor, Interpolation::nearest),
                               upsample2d(c.x({1, 2, 3, 2}), factor, Interpolation::bilinear)};
  });
}

BOOST_AUTO_TEST_CASE(gamma_functions) {
  check([](GradientCase& c) {
    return std::vector<Tensor>{lgamma(c.x({6}, 0.2, 9.5)), digamma(c.x({6}, 0.2, 9.5)), lgamma(c.x({5}, -1.9, -1.1)),
                               digamma(c.x({5}, -1.9, -1.1))};
  });
}

// Places between the centres of elements, and beyond the edge.
BOOST_AUTO_TEST_CASE(samples_at_a_grid) {
  check([](GradientCase& c) {
    const Tensor centres = constant(c.graph, DType::f64, {1, 2, 2, 2}, {-0.3, 0.2, 0.9, -1.3, 0.1, 0.4, -0.6, 0.7});
    const Tensor grid = centres + c.x({1, 2, 2, 2}, -0.02, 0.02);
    return std::vector<Tensor>{grid_sample(c.x({1, 2, 4, 3}), grid, {.border = c.coin()})};
  });
}

BOOST_AUTO_TEST_CASE(logarithms_of_sums) {
  check([](GradientCase& c) { return std::vector<Tensor>{logsumexp(c.x(c.shape(3)), c.axes(3), c.coin())}; });
}

BOOST_AUTO_TEST_CASE(cross_entropy_with_ignored_labels) {
  check([](GradientCase& c) {
    const Tensor labels = c.indices({3, 4}, 5);
    return std::vector<Tensor>{cross_entropy(c.x({3, 4, 5}), labels, 0.1, 2), cross_entropy(c.x({3, 4, 5}), labels)};
  });
}

// No part of the gradient is NaN where the ignored row is not finite.
BOOST_AUTO_TEST_CASE(ignored_rows_have_no_gradient) {
  Graph graph;
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor logits = constant(graph, DType::f64, {3, 2}, {inf, -inf, std::nan(""), 1, 0, 0});
  const Tensor labels = constant(graph, DType::i32, {3}, {-1, -1, 0});
  const Value d = gradients(sum(cross_entropy(logits, labels, 0.0, -1)), {logits})[0].value();
  const std::vector<double> got = interpret_values(graph, {}, std::span(&d, 1))[0].data;
  BOOST_TEST(got == std::vector<double>({0, 0, 0, 0, -0.5, 0.5}));
}

// The middle sample sees no key, and each position of the last one does by the mask or not.
BOOST_AUTO_TEST_CASE(attention_with_lengths_and_a_mask) {
  check([](GradientCase& c) {
    const Tensor lengths = constant(c.graph, DType::i32, {3}, {2, 0, 4});
    std::vector<double> unseen(48);
    for (size_t i = 0; i < unseen.size(); ++i) unseen[i] = i % 5 == 0 || i >= 44 ? -HUGE_VAL : 0;
    const Tensor mask = c.x({4, 4}) + constant(c.graph, DType::f64, {3, 4, 4}, unseen);
    const Tensor q = c.x({3, 4, 2}), k = c.x({3, 4, 2}), v = c.x({3, 4, 4});
    return std::vector<Tensor>{attention(q, k, v, {.heads = 2, .causal = c.coin(), .lengths = lengths, .mask = mask})};
  });
}

BOOST_AUTO_TEST_CASE(positions_that_see_no_key_have_no_gradient) {
  Graph graph;
  const Tensor q = splat(graph, DType::f64, 0.5, {2, 3, 2}), k = splat(graph, DType::f64, 2, {2, 5, 2}),
               v = splat(graph, DType::f64, 3, {2, 5, 2});
  const Tensor y = attention(q, k, v, {.lengths = constant(graph, DType::i32, {2}, {0, 0})});
  for (const Tensor& d : gradients(sum(y * y + y), {q, k, v})) {
    const Value value = d.value();
    const Array got = interpret_values(graph, {}, std::span(&value, 1))[0];
    for (const double number : got.data) BOOST_TEST(number == 0);
  }
}

BOOST_AUTO_TEST_CASE(products_that_broadcast) {
  check([](GradientCase& c) {
    const bool ta = c.coin(), tb = c.coin();
    const auto a = [&](Dims leading) {
      leading.insert(leading.end(), {ta ? 3 : 2, ta ? 2 : 3});
      return c.x(leading);
    };
    const auto b = [&](Dims leading) {
      leading.insert(leading.end(), {tb ? 2 : 3, tb ? 3 : 2});
      return c.x(leading);
    };
    return std::vector<Tensor>{matmul(a({2, 2}), b({}), ta, tb), matmul(a({}), b({2}), ta, tb),
                               matmul(a({1, 2}), b({2, 1}), ta, tb), matmul(a({2}), b({2, 1}), ta, tb)};
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::composite_gradients_test
