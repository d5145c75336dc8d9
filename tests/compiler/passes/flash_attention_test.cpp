// Tests the pass that puts a library op where a GPU's library computes an attention, and what the compiler makes of it.
#include "graph/flash_attention.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "compiler/pipeline/check_passes.h"
#include "compiler/pipeline/pipeline.h"
#include "graph/layers.h"
#include "graph/text.h"
#include "tests/support/compile_check.h"

namespace kb::flash_attention_pass_test {
namespace {

struct Shape {
  int64_t queries = 4, keys = 4, heads = 2, features = 8;
  bool causal = false, lengths = false, mask = false;
  double dropout = 0;
  std::optional<double> scale = {};
};

// An attention with weights before and behind it, so that it has gradients to give and to take.
Graph graph_of(const Shape& s) {
  Graph graph("net");
  const int64_t width = s.heads * s.features;
  const Tensor x = input(graph, "x", DType::f32, {3, s.queries, width}),
               y = input(graph, "y", DType::f32, {3, s.keys, width});
  AttentionOptions options{.heads = s.heads, .causal = s.causal, .scale = s.scale, .dropout = s.dropout};
  if (s.lengths) options.lengths = input(graph, "lengths", DType::i32, {3});
  if (s.mask) options.mask = input(graph, "mask", DType::f32, {3, s.queries, s.keys});
  const auto project = [&](const char* name, Tensor from) { return linear(name, from, width, {.bias = false}); };
  const Tensor o = attention(project("q", x), project("k", y), project("v", y), options);
  const Tensor loss = sum(mean(project("out", o) * x, {1, 2}) * input(graph, "weights", DType::f32, {3}));
  graph.outputs.push_back({"loss", loss.value(), Merge::sum});
  return graph;
}

CompileOptions options_for(const Target& target, Precision precision) {
  CompileOptions options;
  options.target = target;
  options.precision = precision;
  return options;
}

// Returns the ops that the pass leaves, and checks that all values are as before.
int64_t fused(const Shape& shape, const Target& target = gpu_target("sm_90"), Precision precision = Precision::bf16) {
  const CompileOptions options = options_for(target, precision);
  CompileState state{options, {}, {}};
  const Graph before = graph_of(shape), after = flash_attention(before, state);
  verify(after);
  check_pass("flash_attention", before, after, state);
  return std::count_if(after.nodes.begin(), after.nodes.end(),
                       [](const Node& node) { return node.op == Op::flash_attention; });
}

const Node& op_of(const Graph& graph, Op op) {
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(flash_attention_pass)

BOOST_AUTO_TEST_CASE(attention_of_each_mask_that_the_library_has_is_fused) {
  for (const bool causal : {false, true})
    for (const bool lengths : {false, true})
      for (const int64_t keys : {4, 128}) {
        if (causal && keys != 4) continue;
        BOOST_TEST(fused({.keys = keys, .causal = causal, .lengths = lengths}) == 1);
      }
  BOOST_TEST(fused({.scale = 0.5}) == 1);
  BOOST_TEST(fused({}, gpu_target("sm_90"), Precision::f16) == 1);
}

BOOST_AUTO_TEST_CASE(all_else_stays_the_composite) {
  BOOST_TEST(fused({.mask = true}) == 0);
  BOOST_TEST(fused({.dropout = 0.1}) == 0);
  BOOST_TEST(fused({.features = 12}) == 0);
  BOOST_TEST(fused({.features = 136}) == 0);
  BOOST_TEST(fused({.queries = 1}) == 0);
  BOOST_TEST(fused({}, gpu_target("sm_80")) == 0);
  BOOST_TEST(fused({}, gpu_target("sm_90"), Precision::f32) == 0);
  BOOST_TEST(fused({}, generic_cpu_target()) == 0);
}

// Where the number of keys is no multiple of 128 the library gets it as lengths.
BOOST_AUTO_TEST_CASE(lengths_are_given_where_they_are_needed) {
  const CompileOptions options = options_for(gpu_target("sm_90"), Precision::bf16);
  CompileState state{options, {}, {}};
  for (const int64_t keys : {100, 128, 256}) {
    const Graph graph = flash_attention(graph_of({.keys = keys}), state);
    BOOST_TEST(op_of(graph, Op::flash_attention).inputs.size() == kFlashInputs + (keys % 128 == 0 ? 0 : 2));
  }
}

// The step in 16 bits, interpreted from its schedule, agrees with the graph before every pass. The second sample sees
// no key.
BOOST_AUTO_TEST_CASE(a_step_has_the_op_and_its_gradient) {
  test::CheckOptions options{
      .tolerance = 0.02, .precision = Precision::bf16, .target = gpu_target("sm_90"), .optimizer = test::plain_sgd()};
  options.bindings["lengths"] = {{DType::i32, {3}, ""}, {3, 0, 4}};
  const Compiled compiled = test::check_compiled(graph_of({.causal = true, .lengths = true}), options);
  std::vector<Op> calls;
  for (const Schedule* schedule : compiled.program.all())
    for (const Step& step : schedule->steps)
      if (step.call()) calls.push_back(schedule->node_of(step).op);
  BOOST_TEST(std::count(calls.begin(), calls.end(), Op::flash_attention) == 1);
  BOOST_TEST(std::count(calls.begin(), calls.end(), Op::flash_attention_grad) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flash_attention_pass_test
