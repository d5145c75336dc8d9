// Tests in which dtype gradients of filters leave their launches: in 16 bits from a GPU's library, in f32 from kernels
// of our own whose results are summed over workers.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "compiler/fuse/fuse.h"
#include "graph/layers.h"
#include "tests/compiler/passes/checked_pass.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/support/compile_check.h"
#include "tests/support/says.h"

namespace kb::library_gradients_test {

namespace {

using namespace kb::test;

// A convolution of nine taps, which is the library's, and two of one tap, which may be products of our own.
Graph net() {
  Graph graph("final");
  Tensor x = input_of(graph, {4, 16, 6, 6});
  x = relu(batch_norm("bn1", conv2d("conv1", x, 16, {.kernel = 3, .padding = 1})));
  x = conv2d("conv3", relu(batch_norm("bn2", conv2d("conv2", x, 24, {.kernel = 1}))), 16, {.kernel = 1});
  const Tensor y = linear("fc", global_avg_pool(x), 3);
  graph.outputs.push_back({"loss", mean(y * y).value(), Merge::sum, OutputKind::loss});
  return graph;
}

struct Choice {
  Products products = Products::all;
  int64_t virtual_workers = 1, processes = 1;
  Precision precision = Precision::bf16;
};

Compiled compiled_with(const Choice& choice) {
  CompileOptions options;
  options.target = gpu_target("sm_90");
  options.target.products = choice.products;
  options.precision = choice.precision;
  options.workers.virtual_workers = choice.virtual_workers;
  options.workers.processes = choice.processes;
  options.groups = {{.rule = momentum_sgd()}};
  return compile(net(), options);
}

bool is_gradient(const Node& node) { return node.op == Op::conv2d_weight_grad; }

// Returns whether the node widens a gradient of filters, behind any moves of it.
bool widens(const Graph& graph, const Node& node) {
  if (node.op != Op::cast || node.type().dtype != DType::f32) return false;
  const Node* from = &graph.node(node.inputs[0]);
  while (from->op == Op::reshape || from->op == Op::transpose) from = &graph.node(from->inputs[0]);
  return is_gradient(*from);
}

// How the final part of a step computes the gradients of filters.
struct Found {
  int64_t wide = 0, narrow = 0;  // gradients in f32 and in 16 bits
  int64_t widening = 0;          // launches that only widen them
};

Found found_in(const Compiled& compiled) {
  const Schedule& schedule = compiled.program.at(PartRole::final);
  const Graph& graph = *schedule.graph;
  Found found;
  for (const Node& node : graph.nodes)
    if (is_gradient(node)) ++(node.type().dtype == DType::f32 ? found.wide : found.narrow);
  for (const Step& step : schedule.steps) {
    const auto has = [&](auto&& is) {
      return std::ranges::any_of(step.nodes, [&](int32_t n) { return is(graph.nodes[static_cast<size_t>(n)]); });
    };
    found.widening += has([&](const Node& node) { return widens(graph, node); }) && !has(is_gradient);
  }
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(library_gradients_pass)

// The gradient of nine taps is the library's, and one launch widens it.
BOOST_AUTO_TEST_CASE(workers_sum_what_our_kernels_sum_in_f32) {
  for (const Choice& choice :
       {Choice{.virtual_workers = 2}, {.processes = 2}, {.virtual_workers = 2, .processes = 2}}) {
    const Found found = found_in(compiled_with(choice));
    BOOST_TEST(found.wide == 2);
    BOOST_TEST(found.narrow == 1);
    BOOST_TEST(found.widening == 1);
  }
  const Found half = found_in(compiled_with({.virtual_workers = 2, .precision = Precision::f16}));
  BOOST_TEST(half.wide == 2);
  BOOST_TEST(half.widening == 1);
}

BOOST_AUTO_TEST_CASE(the_library_gives_16_bits_to_workers) {
  const Found found = found_in(compiled_with({.products = Products::none, .virtual_workers = 2}));
  BOOST_TEST(found.wide == 0);
  BOOST_TEST(found.narrow == 3);
  BOOST_TEST(found.widening >= 2);  // equal banks may share a launch
}

BOOST_AUTO_TEST_CASE(the_update_of_one_worker_reads_16_bits) {
  for (const Products products : {Products::none, Products::all}) {
    const Found found = found_in(compiled_with({.products = products}));
    BOOST_TEST(found.wide == 0);
    BOOST_TEST(found.narrow == 3);
    BOOST_TEST(found.widening == 0);
  }
}

// A CPU rounds behind its calls, where its target says so, and its calls stay f32.
BOOST_AUTO_TEST_CASE(a_cpu_rounds_as_a_gpu_does) {
  Graph graph;
  const Tensor dw = convolution_weight_grad(input_of(graph, {2, 16, 5, 5}, DType::bf16),
                                            input_of(graph, {2, 16, 5, 5}, DType::bf16, "dy"), {{1, 1}}, 1);
  output("dw", dw);
  Target target = generic_cpu_target();
  const auto casts = [&] {
    const Graph after = checked_pass("library_gradients", library_gradients, graph, target);
    BOOST_TEST(std::ranges::count_if(after.nodes, is_gradient) == 1);
    return std::ranges::count(after.nodes, Op::cast, &Node::op);
  };
  BOOST_TEST(casts() == 0);
  target.narrow_weight_gradients = true;
  BOOST_TEST(casts() == 2);
  target = gpu_target("sm_90");
  BOOST_TEST(casts() == 1);
}

// A gradient in f32 that no kernel of ours computes never reaches the library of a GPU.
BOOST_AUTO_TEST_CASE(a_wide_gradient_at_the_library_is_an_error) {
  Graph graph;
  output("dw", convolution_weight_grad(input_of(graph, {2, 16, 5, 5}, DType::bf16),
                                       input_of(graph, {2, 16, 5, 5}, DType::bf16, "dy"), {{1, 1}}, 1));
  BOOST_CHECK_EXCEPTION(fuse(graph, gpu_target("sm_90")), InternalError,
                        says("fuse: a gradient of filters of 16 bits is f32"));
  fuse(graph, generic_cpu_target());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::library_gradients_test
