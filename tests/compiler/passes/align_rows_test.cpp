// Tests the pass that makes the rows of a GPU's large 16-bit products begin at aligned addresses, with equal values.

#include <boost/test/unit_test.hpp>

#include "graph/functions.h"
#include "tests/compiler/passes/checked_pass.h"

namespace kb::align_rows_test {

namespace {

struct Shape {
  int64_t rows = 4, width = 8, classes = 1027;
  bool transposed = true;  // weights of (classes, width)
  DType dtype = DType::bf16;
};

// An output layer with all that may follow one: sums over its rows and over its columns, the places of its greatest
// values, a bias, a reshape, an output of its own, and the products of its gradient.
Graph layer_of(const Shape& s) {
  Graph graph("layer");
  const Tensor x = input(graph, "x", s.dtype, {s.rows, s.width}, "N_");
  const Dims shape = s.transposed ? Dims{s.classes, s.width} : Dims{s.width, s.classes};
  const Tensor w = input(graph, "w", s.dtype, shape, "__");
  const Tensor bias = input(graph, "bias", DType::f32, {s.classes}, "_");
  const Tensor logits = cast(s.transposed ? matmul(x, w, false, true) : matmul(x, w), DType::f32) + bias;
  const Tensor parts = reshape(logits, {s.rows / 2, 2, s.classes});
  const Tensor greatest = max(parts, {2}, true);
  const Tensor powers = exp(parts - greatest);
  const Tensor shares = powers / sum(powers, {2}, true);
  const Tensor gradient = cast(reshape(shares, {s.rows, s.classes}), s.dtype);
  const auto put = [&](const char* name, const Tensor& value, Merge merge) {
    graph.outputs.push_back({name, value.value(), merge});
  };
  put("greatest", greatest, Merge::per_sample);
  put("least", min(parts, {2}), Merge::per_sample);
  put("product", prod(tanh(parts) + 2.0, {2}), Merge::per_sample);
  put("place", argmax(logits, 1), Merge::per_sample);
  put("bias", sum(cast(gradient, DType::f32), {0}), Merge::sum);
  put("all", sum(logits, {0, 1}), Merge::sum);
  put("logits", logits, Merge::per_sample);
  put("dx", s.transposed ? matmul(gradient, w) : matmul(gradient, w, false, true), Merge::per_sample);
  put("dw", s.transposed ? matmul(gradient, x, true, false) : matmul(x, gradient, true, false), Merge::sum);
  return graph;
}

// Returns how many products have a row of 1,088 elements after the pass, and checks that it keeps all values.
int64_t aligned(const Shape& shape, const Target& target) {
  const Graph after = test::checked_pass("align_rows", align_rows, layer_of(shape), target);
  return std::count_if(after.nodes.begin(), after.nodes.end(), [&](const Node& node) {
    const auto is_long = [](const Type& type) { return type.shape.back() == 1088 || type.shape.front() == 1088; };
    return node.op == Op::matmul && (is_long(node.type()) || is_long(after.type(node.inputs[0])));
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(align_rows_pass)

BOOST_AUTO_TEST_CASE(rows_of_an_output_layer_are_aligned) {
  const Target gpu = gpu_target("sm_90");
  BOOST_TEST(aligned({}, gpu) == 3);
  BOOST_TEST(aligned({.transposed = false}, gpu) == 3);
  BOOST_TEST(aligned({.dtype = DType::f16}, gpu) == 3);
  BOOST_TEST(aligned({.classes = 1085}, gpu) == 3);
}

BOOST_AUTO_TEST_CASE(all_others_stay) {
  const Target gpu = gpu_target("sm_90");
  BOOST_TEST(aligned({}, generic_cpu_target()) == 0);
  BOOST_TEST(aligned({.dtype = DType::f32}, gpu) == 0);
  BOOST_TEST(aligned({.classes = 1032}, gpu) == 0);
  BOOST_TEST(aligned({.classes = 1021}, gpu) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::align_rows_test
