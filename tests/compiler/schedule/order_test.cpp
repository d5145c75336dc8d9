// Tests state that is written in place by launches which also read it: every reader sees its value before the step.
#include "compiler/schedule/order.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "compiler/fuse/fuse.h"
#include "compiler/views.h"
#include "graph/functions.h"
#include "tests/support/compile_check.h"

namespace kb::order_test {

using namespace kb::test;

namespace {

Tensor state_of(Graph& graph, const Dims& shape) {
  return state(graph, "state", {DType::f32, shape, ""}, {InitKind::constant, 0.5, 0});
}

void output(Graph& graph, const std::string& name, Tensor value) {
  graph.outputs.push_back({name, value.value(), Merge::sum});
}

// Checks the compiled step on a CPU and a GPU, and returns how many copies both need together.
int64_t check(const Graph& graph) {
  int64_t copies = 0;
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")}) {
    CheckOptions options;
    options.target = target;
    const Compiled compiled = check_compiled(graph, options);
    for (const Step& step : compiled.program.at(PartRole::final).steps) copies += step.cls == FusionClass::copy;
  }
  return copies;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order_of_launches)

BOOST_AUTO_TEST_CASE(an_update_in_step_needs_no_copy) {
  Graph graph;
  const Tensor old = state_of(graph, {5, 40}), x = input(graph, "x", DType::f32, {5, 40}, "");
  write_state(old, old * 0.75 + x);
  output(graph, "y", old * x);
  BOOST_TEST(check(graph) == 0);
}

// The first launch also computes a value of which the graph speaks behind the product that reads the launch's other
// one.
BOOST_AUTO_TEST_CASE(a_launch_stands_before_its_readers_whatever_else_it_computes) {
  Graph graph;
  const Tensor x = input(graph, "x", DType::f32, {5, 40}, ""), weight = input(graph, "weight", DType::f32, {40, 8}, "");
  const Tensor read = exp(x);
  output(graph, "product", matmul(read, weight));
  output(graph, "beside", tanh(x));
  check(graph);
}

// Each row has been read whole before the first of its elements is overwritten.
BOOST_AUTO_TEST_CASE(a_state_whose_rows_are_summed_by_the_launch_that_overwrites_it) {
  Graph graph;
  const Tensor old = state_of(graph, {300, 600}), x = input(graph, "x", DType::f32, {300, 600}, "");
  const Tensor next = old * 0.75 + x;
  write_state(old, next);
  output(graph, "squares", sum(next * next, {1}));
  output(graph, "most", max(abs(next) + old, {1}));
  BOOST_TEST(check(graph) == 0);
}

// Moments are taken of differences from the first element of a row, which is therefore read once more.
BOOST_AUTO_TEST_CASE(a_state_whose_rows_have_moments_taken_by_the_launch_that_overwrites_it) {
  Graph graph;
  const Tensor old = state_of(graph, {300, 600}), x = input(graph, "x", DType::f32, {300, 600}, "");
  write_state(old, old * 0.75 + x);
  const Moments of_rows = moments(old * 0.75 + x, {1});
  output(graph, "mean", of_rows.mean);
  output(graph, "variance", of_rows.variance);
  check(graph);
}

// The sum of a row, which divides all elements of the row, depends on the state, but does not read it again.
BOOST_AUTO_TEST_CASE(a_state_whose_rows_are_normalised_by_the_launch_that_overwrites_it) {
  Graph graph;
  const Tensor old = state_of(graph, {300, 600}), x = input(graph, "x", DType::f32, {300, 600}, "");
  const Tensor next = old * 0.75 + x;
  write_state(old, next / sum(abs(next), {1}, true));
  BOOST_TEST(check(graph) == 0);
}

// Memory that is overwritten has just been read and is in the cache. An output's memory is not, so a large output is
// stored past the cache.
BOOST_AUTO_TEST_CASE(what_is_overwritten_is_not_stored_past_the_cache) {
  const auto streams = [](bool overwrites) {
    Graph graph;
    const Tensor old = state_of(graph, {50, 64}), next = old * 0.75 + input(graph, "x", DType::f32, {50, 64}, "");
    overwrites ? write_state(old, next) : output(graph, "y", next);
    CompileOptions options;
    options.target = generic_cpu_target();
    options.target.streaming_bytes = 1;
    const Compiled compiled = compile(graph, options);
    BOOST_REQUIRE(compiled.program.at(PartRole::final).kernels.size() == 1u);
    return compiled.program.at(PartRole::final).kernels[0].streaming_argument >= 0;
  };
  BOOST_TEST(!streams(true));
  BOOST_TEST(streams(false));
}

// The launch that overwrites a state reads it again, under another shape, for a later output.
BOOST_AUTO_TEST_CASE(a_state_read_through_two_views_in_the_launch_that_overwrites_it) {
  Graph graph;
  const Tensor old = state_of(graph, {6, 40}), x = input(graph, "x", DType::f32, {6, 1, 40}, "");
  write_state(old, reshape(reshape(old * 0.75, {6, 1, 40}) + x * 0.25, {6, 40}));
  output(graph, "seen", reshape(old, {6, 1, 40}) + x);
  BOOST_TEST(check(graph) == 0);
}

BOOST_AUTO_TEST_CASE(a_state_read_out_of_step_behind_arithmetic) {
  Graph graph;
  const Tensor old = state_of(graph, {40, 40});
  write_state(old, old + transpose(old * 0.5, {1, 0}));
  BOOST_TEST(check(graph) > 0);
}

BOOST_AUTO_TEST_CASE(a_state_whose_first_row_is_spread_over_all) {
  Graph graph;
  const Tensor old = state_of(graph, {40, 4});
  write_state(old, old + broadcast_to(slice(old, 0, 0, 1) * 0.5, {40, 4}));
  BOOST_TEST(check(graph) > 0);
}

BOOST_AUTO_TEST_CASE(a_state_whose_halves_change_places) {
  Graph graph;
  const Tensor old = state_of(graph, {4, 40});
  write_state(old, concat({slice(old, 0, 2, 4) * 2.0, exp(slice(old, 0, 0, 2))}, 0));
  BOOST_TEST(check(graph) > 0);
}

BOOST_AUTO_TEST_CASE(an_output_that_is_the_state_before_the_step) {
  Graph graph;
  const Tensor old = state_of(graph, {5, 40});
  write_state(old, old * 0.75);
  output(graph, "before", old);
  output(graph, "rows", reshape(slice(old, 0, 1, 3), {80}));
  check(graph);
}

// A variable that is read without being written needs no copy; of two states that get one value, one is its memory.
BOOST_AUTO_TEST_CASE(copies_are_made_where_they_are_needed) {
  Graph read;
  const Tensor kept = state_of(read, {5, 40});
  output(read, "kept", kept);
  BOOST_TEST(check(read) == 0);
  Graph twice;
  const Tensor one = state_of(twice, {5, 40}), x = input(twice, "x", DType::f32, {5, 40}, "");
  const Tensor other = state(twice, "other", {DType::f32, {5, 40}, ""}, {InitKind::constant, 0.25, 0});
  const Tensor next = one * 0.75 + x;
  write_state(one, next);
  write_state(other, next);
  output(twice, "y", next * other);
  BOOST_TEST(check(twice) == 2);  // one for a CPU, one for a GPU
}

// A launch goes before one that stands earlier in the graph only if that reads its results.
BOOST_AUTO_TEST_CASE(launches_go_in_the_order_of_the_graph) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = momentum_sgd()}};
  CompileState state{options, {}, {}};
  std::vector<PassReport> reports;
  const Graph graph = run_graph_passes(small_convnet(4), state, reports);
  const std::vector<Group> groups = order(graph, fuse(graph, options.target)).groups;
  for (size_t g = 1; g < groups.size(); ++g) {
    const Group &first = groups[g - 1], &second = groups[g];
    if (first.outputs.back().node < second.outputs.back().node) continue;
    const bool reads = std::ranges::any_of(second.inputs, [&](Value input) {
      return std::ranges::count(first.outputs, resolve_alias(graph, input).owner) > 0;
    });
    BOOST_TEST(reads, "launch " << g << " of " << groups.size());
  }
}

BOOST_AUTO_TEST_CASE(running_maxima_of_rows_of_one_element) {
  Graph graph;
  const Tensor old = state_of(graph, {40}), x = input(graph, "x", DType::f32, {40, 1}, "");
  write_state(old, old * 0.5 + max(x, {1}));
  output(graph, "y", x + reshape(old, {40, 1}) - reshape(max(x, {1}), {40, 1}));
  check(graph);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::order_test
