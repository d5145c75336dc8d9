// Tests where values lie in memory.
#include <boost/test/unit_test.hpp>

#include "tests/compiler/sample_graphs.h"
#include "tests/support/compile_check.h"

namespace kb::places_test {
namespace {

using namespace kb::test;

// Two products of one sample, which are joined in memory, and a product of the second.
Graph joined_products() {
  Graph graph;
  const Tensor x = input_of(graph, {1, 8});
  const Tensor a = matmul(x, input_of(graph, {8, 5}, DType::f32, "a")),
               b = matmul(x, input_of(graph, {8, 3}, DType::f32, "b"));
  output("joined", concat({a, b}, 1));
  output("y", matmul(b, input_of(graph, {3, 4}, DType::f32, "c")));
  return graph;
}

// Products with parts of the inputs that begin 20, 60 and 4 bytes behind a multiple of 16.
Graph products_of_slices() {
  Graph graph;
  const Tensor x = input_of(graph, {4, 5}), w = input_of(graph, {8, 5}, DType::f32, "w");
  const Tensor bias = slice(input_of(graph, {4}, DType::f32, "bias"), 0, 1, 4);
  output("y", matmul(slice(x, 0, 1, 4), slice(w, 0, 3, 6), false, true) + broadcast_to(bias, {3, 3}));
  output("z", matmul(reshape(slice(x, 0, 0, 2), {5, 2}), input_of(graph, {2, 4}, DType::f32, "v")));
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(places)

BOOST_AUTO_TEST_CASE(calls_of_a_gpus_library_touch_aligned_memory) {
  CheckOptions options;
  options.target = gpu_target("sm_90");
  for (const auto& [graph, expected] : {std::pair(joined_products(), 3), {products_of_slices(), 2}}) {
    const Schedule schedule = check_compiled(graph, options).program.at(PartRole::final);
    int calls = 0;
    for (const Step& step : schedule.steps) {
      if (!step.call()) continue;
      ++calls;
      for (const View& operand : step.operands) BOOST_TEST(operand.offset % kGpuVectorBytes == 0, step.name);
    }
    BOOST_TEST(calls == expected);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::places_test
