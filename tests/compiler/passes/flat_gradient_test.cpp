// Tests which concat of a training graph is its flat gradient.
#include <boost/test/unit_test.hpp>

#include "graph/functions.h"
#include "graph/layers.h"
#include "tests/support/compile_check.h"

namespace kb::flat_gradient_test {

namespace {

// Returns a training graph with an output that joins two sums over workers, as parts of the gradient are joined.
Graph graph_of_joined_sums() {
  Graph graph("joined_sums");
  const Tensor x = input(graph, "x", DType::f32, {4, 3}, "NC"), y = linear("fc", x, 2);
  const Tensor sums = concat({worker_sum(sum(x, {0})), worker_sum(sum(y, {0}))}, 0);
  graph.outputs.push_back({"loss", mean(y * y).value(), Merge::sum});
  graph.outputs.push_back({"sums", sums.value(), Merge::sum});
  return graph;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(flat_gradient)

BOOST_AUTO_TEST_CASE(a_model_may_join_sums_over_workers) {
  const Graph graph = graph_of_joined_sums();
  test::check_compiled(graph, {.target = gpu_target("sm_90"), .optimizer = test::plain_sgd()});
  CompileOptions options;
  options.target = generic_cpu_target();
  options.workers = {1, 2};
  options.groups = {{.rule = test::plain_sgd()}};
  BOOST_CHECK_NO_THROW(compile(graph, options));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flat_gradient_test
