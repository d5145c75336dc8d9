// Tests that the update of a GPU's step reads gradients of filters as the library writes them: in 16 bits and in the
// order in which the filters lie, with equal values.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "compiler/passes/parameter_space.h"
#include "graph/layers.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/support/compile_check.h"

namespace kb::narrow_gradient_test {

namespace {

constexpr int64_t kSamples = 4;

// Convolutions over an image, of nine taps and of one, with batch norm and a linear layer behind them.
Graph net() {
  Graph graph("final");
  Tensor x = test::input_of(graph, {kSamples, 16, 6, 6});
  x = relu(batch_norm("bn1", conv2d("conv1", x, 16, {.kernel = 3, .padding = 1})));
  x = conv2d("conv3", relu(batch_norm("bn2", conv2d("conv2", x, 8, {.kernel = 1}))), 8, {.kernel = 3});
  const Tensor y = linear("fc", global_avg_pool(x), 3);
  graph.outputs.push_back({"loss", mean(y * y).value(), Merge::sum, OutputKind::loss});
  return graph;
}

Compiled compiled_for(const Target& target, Precision precision, int64_t workers = 1) {
  CompileOptions options;
  options.target = target;
  options.precision = precision;
  options.workers.virtual_workers = workers;
  options.groups = {{.rule = test::momentum_sgd()}};
  return compile(net(), options);
}

int64_t count(const Compiled& compiled, const std::function<bool(const Node&)>& is) {
  int64_t found = 0;
  for (const Schedule* schedule : compiled.program.all()) found += std::ranges::count_if(schedule->graph->nodes, is);
  return found;
}

int64_t narrow_concats(const Compiled& compiled) {
  return count(compiled, [](const Node& node) { return node.op == Op::concat && node.type().dtype == DType::bf16; });
}

// Images, whose first extent is the number of samples, are not counted.
int64_t transposed_filters(const Compiled& compiled) {
  return count(compiled, [](const Node& node) {
    return node.op == Op::transpose && node.type().rank() == 4 && node.type().shape[0] != kSamples;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(narrow_gradient_pass)

BOOST_AUTO_TEST_CASE(no_launch_widens_or_transposes_filters) {
  BOOST_TEST(narrow_concats(compiled_for(gpu_target("sm_90"), Precision::bf16)) == 1);
  for (const Precision precision : {Precision::bf16, Precision::f32})
    BOOST_TEST(transposed_filters(compiled_for(gpu_target("sm_90"), precision)) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_summed_over_workers_stays_wide) {
  BOOST_TEST(narrow_concats(compiled_for(gpu_target("sm_90"), Precision::bf16, 2)) == 0);
  BOOST_TEST(narrow_concats(compiled_for(gpu_target("sm_90"), Precision::f32)) == 0);
}

BOOST_AUTO_TEST_CASE(filters_stand_first_and_lie_with_their_channels_last) {
  const Compiled gpu = compiled_for(gpu_target("sm_90"), Precision::f32);
  BOOST_TEST(gpu.space.find("conv1.weight")->order == Ints({0, 2, 3, 1}));
  BOOST_TEST(gpu.space.find("conv2.weight")->order.empty());
  for (size_t i = 0; i < gpu.space.segments.size(); ++i)
    BOOST_TEST((gpu.space.segments[i].name.starts_with("conv")) == (i < 3), gpu.space.segments[i].name);
  for (const Segment& segment : compiled_for(generic_cpu_target(), Precision::f32).space.segments)
    BOOST_TEST(segment.order.empty());
}

// Judged by the interpreter, before and after each pass, and by the kernels' own interpreter.
BOOST_AUTO_TEST_CASE(steps_are_those_of_the_oracle) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    test::CheckOptions check;
    check.target = gpu_target("sm_90");
    check.precision = precision;
    check.optimizer = test::momentum_sgd();
    check.tolerance = precision == Precision::f32 ? 2e-5 : 2e-2;
    test::check_compiled(net(), check);
  }
}

BOOST_AUTO_TEST_CASE(a_place_in_memory_belongs_to_one_element) {
  Segment segment;
  segment.type = {DType::f32, {2, 3, 2, 2}, "OIHW"};
  segment.length = 24;
  segment.order = {0, 2, 3, 1};
  Ints elements;
  for_each_place(segment, [&](int64_t place, int64_t element) {
    BOOST_TEST(place == std::ssize(elements));
    elements.push_back(element);
  });
  const Ints expected = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23};
  BOOST_TEST(elements == expected);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::narrow_gradient_test
