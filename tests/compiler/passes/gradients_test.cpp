
#include "tests/compiler/passes/gradient_cases.h"

#include <boost/test/unit_test.hpp>

namespace kb::gradients_test {

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

// The gradients at kinks follow PyTorch's conventions, and equal elements share a gradient.
BOOST_AUTO_TEST_CASE(kinks_and_ties) {
  Graph g;
  const Tensor x = constant(g, DType::f64, Dims{3}, std::vector<double>{-1, 0, 2});
  const Tensor y = constant(g, DType::f64, Dims{3}, std::vector<double>{-2, 0, 2});
  const auto gradient = [&](const Tensor& result, const Tensor& to) { return values(gradients(sum(result), {to})[0]); };
  using Reals = std::vector<double>;
  BOOST_TEST(gradient(relu(x), x) == Reals({0, 0, 1}));
  BOOST_TEST(gradient(abs(x), x) == Reals({-1, 0, 1}));
  BOOST_TEST(gradient(maximum(x, y), x) == Reals({1, 0.5, 0.5}));
  BOOST_TEST(gradient(maximum(x, y), y) == Reals({0, 0.5, 0.5}));
  BOOST_TEST(gradient(clamp(x, -0.5, 2), x) == Reals({0, 1, 1}));
  const Tensor tied = constant(g, DType::f64, Dims{4}, std::vector<double>{3, 1, 3, 3});
  BOOST_TEST(gradient(max(tied), tied) == Reals({1.0 / 3, 0, 1.0 / 3, 1.0 / 3}));
  // A branch that is not taken gives 0 even where its own derivative is infinite.
  const Tensor zero = constant(g, DType::f64, Dims{2}, std::vector<double>{0, 4});
  BOOST_TEST(gradient(select(zero > 0.0, sqrt(zero), 0.0), zero)[1] == 0.25);
  BOOST_TEST(gradient(norm(constant(g, DType::f64, 0.0, {2})), zero) == Reals({0, 0}));
}

// A factor that is pulled out of a sum leaves a number of elements, or a sum, that f16 does not hold.
BOOST_AUTO_TEST_CASE(pulled_factors_of_f16) {
  Graph g;
  const Tensor x = constant(g, DType::f16, 0.5, {1});
  const auto gradient = [&](const Tensor& loss) { return values(gradients(loss, {x})[0])[0]; };
  const auto wide = [](const Tensor& t) { return cast(t, DType::f32); };
  BOOST_TEST(gradient(sum(wide(broadcast_to(x, {1 << 17})) * 0x1p-16)) == 2);
  const Tensor varying = constant(g, DType::f16, {2}, {40000, 50000});
  BOOST_TEST(gradient(sum(wide(broadcast_to(x, {2}) * 0x1p-10 * varying))) == 87.875);
}

// The gradient of each factor, a zero too, is the product of all others, as in PyTorch; the second derivative by two
// factors is the product of all but these two.
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

// Two signs, a factor and a divisor that vary along an axis which stays.
BOOST_AUTO_TEST_CASE(a_sum_without_the_factors_that_do_not_vary_equals_the_whole_sum) {
  Graph g("g");
  const Dims shape = {2, 3, 4, 5};
  const Tensor x = input(g, "x", DType::f64, shape, ""), y = input(g, "y", DType::f64, shape, "");
  const Tensor factor = broadcast_axes(input(g, "factor", DType::f64, {5}, ""), shape, {3});
  const Tensor divisor = broadcast_axes(exp(input(g, "divisor", DType::f64, {1, 3}, "")), shape, {0, 1});
  const Tensor product = -(x * factor) * -(y / divisor);
  const Tensor pulled = sum_of_product(product, {0, 2}), whole = sum(product, {0, 2});
  const auto got = interpret_values(g, random_bindings(g, 3), std::vector<Value>{pulled.value(), whole.value()});
  for (size_t i = 0; i < got[1].data.size(); ++i) BOOST_TEST(std::abs(got[0].data[i] - got[1].data[i]) < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradients_test
