// Tests simplify: what it merges, folds and drops, each by an exact identity, and what it leaves because it would not
// be.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "graph/functions.h"
#include "tests/compiler/passes/checked_pass.h"

namespace kb::simplify_test {

namespace {

// check_pass holds the values equal to the bit.
Graph simplified(const Graph& graph) { return test::checked_pass("simplify", simplify, graph, generic_cpu_target()); }

int64_t count(const Graph& graph, Op op) { return std::ranges::count(graph.nodes, op, &Node::op); }

Graph with_output(const Graph& built, Tensor y) {
  Graph graph = built;
  graph.outputs.push_back({"y", y.value(), Merge::per_sample});
  return graph;
}

// A graph with the inputs x and y, and how many nodes of an op are left of what is built on them.
struct Built {
  Graph graph{"g"};
  Tensor x, y;

  explicit Built(DType dtype = DType::f32, const Dims& shape = {2, 3})
      : x(input(graph, "x", dtype, shape)), y(input(graph, "y", dtype, shape)) {}
  int64_t left(Tensor result, Op op) const { return count(simplified(with_output(graph, result)), op); }
  Tensor raw(Op op, Attrs attrs) { return {graph, graph.add(op, {x.value()}, std::move(attrs))}; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(simplify_pass)

BOOST_AUTO_TEST_CASE(equal_nodes_are_merged_and_dead_ones_dropped) {
  Graph g("g");
  Tensor x = input(g, "x", DType::f32, {4}, "N");
  Tensor dead = exp(x);
  (void)dead;
  Graph after = simplified(with_output(g, tanh(x) * tanh(x)));
  BOOST_TEST(count(after, Op::tanh) == 1);
  BOOST_TEST(count(after, Op::exp) == 0);
}

// Gradients of two tables that are read at the same indices sort them once.
BOOST_AUTO_TEST_CASE(the_order_of_indices_is_shared) {
  Graph g("g");
  const Tensor at = input(g, "at", DType::i32, {6}, "N"), x = input(g, "x", DType::f32, {6, 3}, "NC");
  const Tensor tables = scatter_add(at, x, 5) * scatter_add(at, exp(x), 5);
  Graph after = simplified(with_output(g, tables));
  BOOST_TEST(count(after, Op::scatter_add) == 2);
  BOOST_TEST(count(after, Op::index_order) == 1);
}

BOOST_AUTO_TEST_CASE(constants_are_folded_by_exact_identities) {
  Graph g("g");
  Tensor x = input(g, "x", DType::f32, {2, 3}, "NC");
  Tensor y = neg(neg(x * 1.0)) / 4.0;
  y = transpose(transpose(y, {1, 0}), {1, 0}) + (constant(g, DType::f32, 2.0) * 3.0);
  Graph after = simplified(with_output(g, reshape(reshape(y, {6}), {2, 3})));
  BOOST_TEST(count(after, Op::neg) == 0);
  BOOST_TEST(count(after, Op::div) == 0);
  BOOST_TEST(count(after, Op::transpose) == 0);
  BOOST_TEST(count(after, Op::reshape) == 0);
  BOOST_TEST(count(after, Op::mul) == 1);  // the multiplication by 1/4, which is exact
}

BOOST_AUTO_TEST_CASE(the_sign_of_zero_and_nan_are_kept) {
  Graph g("g");
  Tensor x = input(g, "x", DType::f32, {3}, "N");
  Graph after = simplified(with_output(g, (x + 0.0) * 0.0));
  BOOST_TEST(count(after, Op::add) == 1);
  BOOST_TEST(count(after, Op::mul) == 1);
}

BOOST_AUTO_TEST_CASE(zeros_of_both_signs_are_kept_apart) {
  Graph g("g");
  const Tensor x = input(g, "x", DType::f32, {2}, "N");
  const Tensor one = x / constant(g, DType::f32, {2}, {0.0, -0.0}),
               other = x / constant(g, DType::f32, {2}, {-0.0, 0.0});
  const Tensor padded = concat({pad(x, {1}, {0}, 0.0), pad(x, {1}, {0}, -0.0)}, 0);
  const Tensor parts = concat({x / 0.0, x / -0.0, one, other, 1.0 / padded}, 0);
  Graph after = simplified(with_output(g, parts));
  BOOST_TEST(count(after, Op::constant) == 5);
  BOOST_TEST(count(after, Op::pad) == 2);
}

BOOST_AUTO_TEST_CASE(no_tensor_is_read_for_its_shape) {
  Graph g("g");
  Tensor x = input(g, "x", DType::f32, {4, 3}, "NC");
  const Tensor computed = exp(x);
  Graph after = simplified(with_output(g, x / count(computed, {0}) / count(computed, {0})));
  BOOST_TEST(count(after, Op::count) == 0);
  BOOST_TEST(count(after, Op::exp) == 0);
  BOOST_TEST(count(after, Op::extent) == 1);
}

// The two extents differ at another minibatch size, and one kernel serves every minibatch size.
BOOST_AUTO_TEST_CASE(extents_are_kept_apart_that_happen_to_be_equal) {
  Graph g("g");
  Tensor x = input(g, "x", DType::f32, {4, 3}, "NC");
  Graph built = with_output(g, x / count(x, {0}) * count(reshape(x, {3, 4}), {1}));
  Graph after = simplified(built);
  BOOST_TEST(count(after, Op::extent) == 2);
  BOOST_TEST(count(simplified(after), Op::extent) == 2);
}

// Rules of point-wise ops that give back an argument.
BOOST_AUTO_TEST_CASE(an_op_that_changes_nothing_is_dropped) {
  Built b;
  BOOST_TEST(b.left(b.x * 1.0, Op::mul) == 0);
  BOOST_TEST(b.left(1.0 * b.x, Op::mul) == 0);
  BOOST_TEST(b.left(b.x * reshape(splat(b.graph, DType::f32, 1, {6}), {2, 3}), Op::mul) == 0);
  BOOST_TEST(b.left(b.x - 0.0, Op::sub) == 0);
  BOOST_TEST(b.left(b.x - -0.0, Op::sub) == 1);  // -0 - -0 is 0
  BOOST_TEST(b.left(b.raw(Op::cast, {{"dtype", DType::f32}}), Op::cast) == 0);
  BOOST_TEST(b.left(select(b.x < b.y, b.x, b.x), Op::select) == 0);
  for (const double chosen : {0.0, 1.0})
    BOOST_TEST(b.left(select(splat(b.graph, DType::boolean, chosen, {2, 3}), b.x, b.y), Op::select) == 0);
}

// Multiplication by the inverse is exact for powers of two, unless the inverse is near the dtype's limits.
BOOST_AUTO_TEST_CASE(a_division_by_a_power_of_two_is_a_multiplication) {
  const auto multiplies = [](DType dtype, double by) {
    Built b(dtype);
    const Tensor quotient = b.x / by;
    BOOST_TEST(b.left(quotient, Op::div) + b.left(quotient, Op::mul) == (by == 1 ? 0 : 1));
    return b.left(quotient, Op::mul) == 1;
  };
  for (const double by : {2.0, -0.25, 0x1p99, 0x1p-101}) BOOST_TEST(multiplies(DType::f32, by));
  for (const double by : {1.0, 3.0, 0.1, 0x1p100, 0x1p-102}) BOOST_TEST(!multiplies(DType::f32, by));
  BOOST_TEST(multiplies(DType::f16, 512));
  BOOST_TEST(!multiplies(DType::f16, 1024));
  BOOST_TEST(!multiplies(DType::i32, 4));
}

BOOST_AUTO_TEST_CASE(moves_of_moves_are_one) {
  Built b(DType::f32, {2, 3, 4});
  BOOST_TEST(b.left(transpose(b.x, {0, 1, 2}), Op::transpose) == 0);
  BOOST_TEST(b.left(transpose(transpose(b.x, {1, 2, 0}), {1, 2, 0}), Op::transpose) == 1);
  BOOST_TEST(b.left(reshape(reshape(b.x, {24}), {6, 4}), Op::reshape) == 1);
  BOOST_TEST(b.left(b.raw(Op::reshape, {{"shape", Dims{2, 3, 4}}, {"names", std::string("ABC")}}), Op::reshape) == 0);
  BOOST_TEST(b.left(broadcast_axes(broadcast_to(b.x, {5, 2, 3, 4}), {5, 2, 3, 4, 6}, {0, 1, 2, 3}), Op::broadcast) ==
             1);
  BOOST_TEST(b.left(b.raw(Op::broadcast, {{"shape", Dims{2, 3, 4}}, {"axes", Ints{0, 1, 2}}}), Op::broadcast) == 0);
  BOOST_TEST(b.left(slice(b.x, 1, 0, 3), Op::slice) == 0);
  BOOST_TEST(b.left(slice(b.x, 1, 0, 2), Op::slice) == 1);
  BOOST_TEST(b.left(pad(b.x, {0, 0, 0}, {0, 0, 0}), Op::pad) == 0);
}

BOOST_AUTO_TEST_CASE(a_reduction_of_single_elements_is_none) {
  Built b(DType::f32, {2, 1, 3});
  BOOST_TEST(b.left(sum(b.x, {1}), Op::reduce_sum) == 0);
  BOOST_TEST(b.left(sum(b.x, {0}), Op::reduce_sum) == 1);
  BOOST_TEST(b.left(max(b.x, {1}, true), Op::reduce_max) == 0);
  const Tensor of_none = b.raw(Op::reduce_sum, {{"axes", Ints{}}});
  BOOST_TEST(b.left(of_none, Op::reduce_sum) + b.left(of_none, Op::reshape) == 0);
  BOOST_TEST(b.left(b.raw(Op::moments, {{"axes", Ints{}}}), Op::moments) == 0);
}

// Constants of up to 4096 elements are computed here, whatever they are spread to.
BOOST_AUTO_TEST_CASE(what_follows_from_constants_is_a_constant) {
  const auto vector = [](Graph& graph, int64_t length) {
    std::vector<double> values(static_cast<size_t>(length));
    std::iota(values.begin(), values.end(), 0.0);
    return constant(graph, DType::f32, {length}, values);
  };
  for (const int64_t length : {6, 4096, 4098}) {
    Built b(DType::f32, {2, length / 2});
    const Tensor row = vector(b.graph, length), matrix = reshape(row, {2, length / 2});
    const bool folds = length <= 4096;
    BOOST_TEST(b.left(row * 2.0, Op::mul) == (folds ? 0 : 1));
    BOOST_TEST(b.left(sum(row, {0}), Op::reduce_sum) == (folds ? 0 : 1));
    BOOST_TEST(b.left(slice(row, 0, 1, 4), Op::slice) == (folds ? 0 : 1));
    // A value that is spread or reshaped costs no memory: it stays so.
    BOOST_TEST(b.left(b.x + matrix, Op::reshape) == 1);
    BOOST_TEST(b.left(b.x + broadcast_axes(slice(row, 0, 3, 5), {2, length / 2}, {0}), Op::broadcast) == 1);
  }
  Built b;
  const Tensor filled = splat(b.graph, DType::f32, 3, {500, 100}) * 2.0 + 1.0;
  BOOST_TEST(b.left(filled, Op::mul) + b.left(filled, Op::add) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::simplify_test
