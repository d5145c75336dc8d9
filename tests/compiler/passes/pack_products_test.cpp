// Tests the pass that puts weights which many products of a step read in the library's own order once.

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "graph/functions.h"
#include "tests/compiler/passes/checked_pass.h"

namespace kb::pack_products_test {

namespace {

// A library with an order of its own for the weights of products of at most 8 rows.
struct PackingLibrary : LibraryQuery {
  int64_t scratch_bytes(const Graph&, const Node&, const Epilogue&) const override { return 0; }
  int64_t packed_bytes(const Graph& graph, const Node& pack) const override {
    BOOST_TEST(pack.attrs.text("usage") == "matmul");
    return pack.attrs.ints("x_shape")[0] <= 8 ? graph.type(pack.inputs[0]).bytes() : 0;
  }
};

Target cpu_with_packing() {
  Target target;
  target.library = std::make_shared<PackingLibrary>();
  return target;
}

struct Recurrence {
  int steps = 4;
  int64_t rows = 8;
  bool scaled = false;  // the weights are multiplied by an input
  Workers workers = {};
};

// A state that the same weights multiply at each step, as in a recurrent layer, forward and transposed.
Graph graph_of(const Recurrence& r) {
  constexpr int64_t kWidth = 6;
  Graph graph("recurrence");
  Tensor w = parameter(graph, "w", Role::weight, {DType::f32, {kWidth, kWidth}, "OI"}, {});
  const Tensor x = input(graph, "x", DType::f32, {r.rows, kWidth}, "NC");
  if (r.scaled) w = w * scalar_input(graph, "scale");
  Tensor h = x, back = x;
  for (int i = 0; i < r.steps; ++i) {
    h = tanh(matmul(h, w, false, true));
    back = tanh(matmul(back, w));
  }
  graph.outputs.push_back({"h", h.value(), Merge::per_sample});
  graph.outputs.push_back({"back", back.value(), Merge::per_sample});
  return graph;
}

struct Packs {
  int64_t nodes = 0, products = 0;  // pack_weights nodes, and products that read them
  friend bool operator==(const Packs&, const Packs&) = default;
};

std::ostream& operator<<(std::ostream& stream, const Packs& packs) {
  return stream << packs.nodes << " packs, " << packs.products << " products";
}

Packs packed(const Recurrence& recurrence, const Target& target = cpu_with_packing()) {
  const Graph after =
      test::checked_pass("pack_products", pack_products, graph_of(recurrence), target, recurrence.workers);
  const auto count = [&](auto&& is) { return std::ranges::count_if(after.nodes, is); };
  return {count([](const Node& node) { return node.op == Op::pack_weights; }), count([&](const Node& node) {
            const bool reads = node.op == Op::matmul && after.node(node.inputs[1]).op == Op::pack_weights;
            if (node.op == Op::matmul) BOOST_TEST((node.attrs.integer("packed", 0) == 1) == reads);
            return reads;
          })};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pack_products_pass)

BOOST_AUTO_TEST_CASE(weights_are_packed_once_for_each_way_in_which_products_read_them) {
  BOOST_TEST(packed({}) == (Packs{2, 8}));
  BOOST_TEST(packed({.steps = 9, .rows = 3}) == (Packs{2, 18}));
}

// All workers of a step count, so that the bits do not depend on how they are spread over processes.
BOOST_AUTO_TEST_CASE(workers_share_packed_weights) {
  BOOST_TEST(packed({.steps = 1, .workers = {1, 4}}) == (Packs{2, 2}));
  BOOST_TEST(packed({.steps = 1, .workers = {4, 1}}) == (Packs{2, 2}));
  BOOST_TEST(packed({.steps = 1, .workers = {1, 3}}) == Packs{});
}

BOOST_AUTO_TEST_CASE(few_products_read_weights_as_they_are) { BOOST_TEST(packed({.steps = 3}) == Packs{}); }

BOOST_AUTO_TEST_CASE(products_that_the_library_wants_plain_stay) { BOOST_TEST(packed({.rows = 9}) == Packs{}); }

BOOST_AUTO_TEST_CASE(a_matrix_that_changes_within_a_step_stays) { BOOST_TEST(packed({.scaled = true}) == Packs{}); }

BOOST_AUTO_TEST_CASE(a_gpu_reads_weights_as_they_are) {
  Target gpu = cpu_with_packing();
  gpu.processor = Processor::gpu;
  BOOST_TEST(packed({}, gpu) == Packs{});
  BOOST_TEST(packed({}, Target{}) == Packs{});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::pack_products_test
