// Tests that launches which differ in offsets alone share a kernel, and that those of one kernel keep their literals.
#include "compiler/schedule/share_kernels.h"

#include <boost/test/unit_test.hpp>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "tests/support/compile_check.h"

namespace kb::share_kernels_test {

using namespace kb::test;

namespace {

void output(Graph& graph, const std::string& name, Tensor value) {
  graph.outputs.push_back({name, value.value(), Merge::sum});
}

// A recurrence over the steps of x [3, steps, 21], and its gradient.
Graph unrolled(int64_t steps) {
  Graph graph;
  const Tensor x = input(graph, "x", DType::f32, {3, steps, 21}, "");
  Tensor state = reshape(slice(x, 1, 0, 1), {3, 21});
  for (int64_t t = 1; t < steps; ++t) {
    const Tensor moved = concat({slice(state, 1, 1, 21), slice(state, 1, 0, 1)}, 1);
    state = tanh(moved * 0.5 + logsumexp(state, {1}, true) + reshape(slice(x, 1, t, t + 1), {3, 21}));
  }
  output(graph, "state", state);
  output(graph, "slope", gradients(sum(state), {x})[0]);
  return graph;
}

const Schedule& step_of(const Compiled& compiled) { return compiled.program.at(PartRole::final); }

}  // namespace

BOOST_AUTO_TEST_SUITE(shared_kernels)

BOOST_AUTO_TEST_CASE(the_steps_of_a_recurrence_share_kernels) {
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")}) {
    CheckOptions options;
    options.target = target;
    const Compiled few = check_compiled(unrolled(7), options), many = check_compiled(unrolled(11), options);
    BOOST_TEST(step_of(many).steps.size() > step_of(few).steps.size());
    BOOST_TEST(step_of(many).kernels.size() == step_of(few).kernels.size());
  }
}

// Each kernel is of one launch; an argument in place of the literal would make them equal.
BOOST_AUTO_TEST_CASE(an_offset_of_one_launch_stays_a_literal) {
  const auto kernel = [](int64_t begin) {
    Graph graph;
    output(graph, "y", exp(slice(input(graph, "x", DType::f32, {3, 40}, ""), 1, begin, begin + 9)));
    const Compiled compiled = check_compiled(graph);
    BOOST_TEST_REQUIRE(step_of(compiled).kernels.size() == 1u);
    return step_of(compiled).kernels[0];
  };
  BOOST_TEST(kernel(5).arguments == kernel(7).arguments);
  BOOST_TEST(kernel(5).name != kernel(7).name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::share_kernels_test
