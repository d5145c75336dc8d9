// Tests gradients of values with many uses, which are joined into one op, against finite differences and by the nodes
// that they take.
#include "compiler/passes/joined_gradients.h"

#include "tests/compiler/passes/gradient_cases.h"

namespace kb::gradients_test {
namespace {

// A recurrence over the rows of x, two at a time: h <- tanh(x_t + h w). The result is the last h, or all of them.
Tensor unrolled(Tensor x, Tensor w, bool is_transposed, bool all) {
  std::vector<Tensor> states;
  Tensor h = slice(x, 0, 0, 2);
  for (int64_t t = 1; 2 * t < x.size(0); ++t) {
    h = tanh(slice(x, 0, 2 * t, 2 * t + 2) + matmul(h, w, false, is_transposed));
    states.push_back(h);
  }
  return all ? concat(states, 0) : h;
}

// Adds the gradients of an unrolled recurrence of `steps` steps to the graph, and returns it with no node unused.
Graph unrolled_backward(int64_t steps) {
  Graph g;
  const Tensor x = parameter(g, "x", Role::weight, {DType::f32, {2 * steps + 2, 3}, ""}, {});
  const Tensor w = parameter(g, "w", Role::weight, {DType::f32, {3, 3}, ""}, {});
  for (const Tensor& found : gradients(sum(unrolled(x, w, true, true)), {x, w}))
    g.outputs.push_back({"g" + std::to_string(g.outputs.size()), found.value(), Merge::sum});
  return simplified(std::move(g));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(joined_gradients)

BOOST_AUTO_TEST_CASE(are_the_differences) {
  for (const int order : {1, 2})
    for (const bool is_transposed : {false, true})
      check(
          "recurrence",
          [&](GradientCase& c) {
            const Tensor x = c.x({10, 3}, -1, 1), w = c.x({3, 3}, -1, 1);
            return Results{unrolled(x, w, is_transposed, true) * c.fixed({8, 3}), x * 3.0, matmul(w, w)};
          },
          order, 2);
}

// The last part of x moves nothing, and gives its gradient zeros; no term of the last product flows either.
BOOST_AUTO_TEST_CASE(a_part_without_a_gradient_is_zero) {
  check(
      "parts",
      [](GradientCase& c) {
        const Tensor x = c.x({10, 3}, -1, 1), w = c.x({3, 3}, -1, 1);
        return Results{slice(unrolled(x, w, false, true), 0, 0, 6)};
      },
      1, 2);
  check(
      "uses beside the loss",
      [](GradientCase& c) {
        const Tensor x = c.x({4, 3}, -1, 1), w = c.x({3, 3}, -1, 1), y = sin(x);
        Tensor product = slice(y, 0, 0, 2);
        slice(y, 0, 2, 4);
        for (int i = 0; i < 2; ++i) product = tanh(matmul(product, w));
        matmul(product, w);
        return Results{product};
      },
      1, 2);
}

// Slices that overlap, or leave rows out, and products of w and its transpose have terms of their own.
BOOST_AUTO_TEST_CASE(other_uses_are_added) {
  check(
      "others",
      [](GradientCase& c) {
        const Tensor x = c.x({6, 3}, -1, 1), w = c.x({3, 3}, -1, 1), y = sin(x), z = cos(x);
        const Tensor product = matmul(tanh(matmul(tanh(matmul(y, w)), w, false, true)), w);
        return Results{product, slice(y, 0, 0, 4) * slice(y, 0, 2, 6), slice(z, 0, 0, 2) * slice(z, 0, 4, 6),
                       slice(z, 0, 0, 6, 2) * slice(z, 0, 1, 6, 2)};
      },
      1, 2);
}

// Rows in two parts as long together as the whole: every second row and the last ones, a part of the columns, rows
// twice. Products of batches and of transposed rows are three as well, and no rows of one matrix.
BOOST_AUTO_TEST_CASE(uses_that_seem_to_make_a_whole_are_added) {
  check(
      "seeming wholes",
      [](GradientCase& c) {
        const Tensor x = c.x({4, 3}, -1, 1), strided = sin(x), narrow = cos(x), twice = tanh(x);
        Results results{
            slice(strided, 0, 0, 4, 2) * 2.0, slice(strided, 0, 2, 4),     slice(narrow, {0, 0}, {2, 2}, {1, 1}) * 3.0,
            slice(narrow, 0, 2, 4),           slice(twice, 0, 0, 2) * 2.0, slice(twice, 0, 1, 3)};
        const Tensor w = c.x({3, 2}, -1, 1), v = c.x({2, 2, 2}, -1, 1);
        for (const double factor : {1.0, 2.0, 3.0}) {
          const Tensor moved = tanh(x * factor), batch = reshape(slice(moved, 0, 0, 4), {2, 2, 3});
          results.push_back(matmul(reshape(moved, {3, 4}), w, true));
          results.push_back(matmul(slice(batch, 2, 0, 2), v));
        }
        return results;
      },
      1, 2);
}

// A step adds a product forward and one backward. The weight's gradient is one product, and that of x has no padding.
BOOST_AUTO_TEST_CASE(a_step_takes_two_products) {
  for (const int64_t steps : {3, 7}) {
    const Graph graph = unrolled_backward(steps);
    BOOST_TEST(count_op(graph, Op::matmul) == static_cast<size_t>(2 * steps + 1));
    BOOST_TEST(count_op(graph, Op::pad) == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradients_test
