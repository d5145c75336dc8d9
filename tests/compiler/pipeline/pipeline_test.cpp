// Tests the whole pipeline against the graph interpreter: a small training step, inference, and random graphs.
#include "compiler/pipeline/pipeline.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "compiler/fuse/fuse.h"
#include "compiler/pipeline/lowering_passes.h"
#include "graph/functions.h"
#include "tests/support/compile_check.h"
#include "tests/support/random_graph.h"

namespace kb::pipeline_test {

using namespace kb::test;

namespace {

// Returns whether a convolution gives several blocks of channels.
bool lies_in_blocks(const Node& node) { return node.op == Op::conv2d && node.type().rank() == 5; }

}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline)

BOOST_AUTO_TEST_CASE(a_training_step_equals_its_interpretation) {
  CheckOptions options;
  options.optimizer = momentum_sgd();
  Compiled compiled = check_compiled(small_convnet(4), options);
  BOOST_TEST(compiled.space.find("block.conv1.weight") != nullptr);
  BOOST_TEST(compiled.program.at(PartRole::final).arena_bytes <=
             1.2 * static_cast<double>(compiled.program.at(PartRole::final).liveness_bound_bytes));
}

BOOST_AUTO_TEST_CASE(a_training_step_in_f64_equals_its_interpretation) {
  CheckOptions options;
  options.optimizer = plain_sgd();
  options.precision = Precision::f64;
  check_compiled(small_convnet(3), options);
}

BOOST_AUTO_TEST_CASE(an_inference_graph_adopts_the_training_space) {
  CheckOptions training;
  training.optimizer = plain_sgd();
  Compiled first = check_compiled(small_convnet(4), training);
  CompileOptions options;
  options.target = generic_cpu_target();
  options.space = &first.space;
  Compiled second = compile(small_convnet(5, Mode::inference), options);
  BOOST_TEST(second.space.length == first.space.length);
  BOOST_TEST(second.program.at(PartRole::final).graph->writes.empty());
}

BOOST_AUTO_TEST_CASE(another_minibatch_makes_the_same_kernels) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = momentum_sgd()}};
  Compiled a = compile(small_convnet(16), options), b = compile(small_convnet(48), options);
  const auto& first = a.program.at(PartRole::final).kernels;
  const auto& second = b.program.at(PartRole::final).kernels;
  BOOST_REQUIRE(first.size() == second.size());
  for (size_t i = 0; i < first.size(); ++i) BOOST_TEST(first[i].name == second[i].name);
}

// All passes run from one table, so the passes that are reported were dumped too, in the same order.
BOOST_AUTO_TEST_CASE(every_pass_is_reported_and_dumped) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = momentum_sgd()}};
  std::vector<std::string> dumped;
  options.dump = [&](const std::string& pass, const std::string& before, const std::string& after) {
    dumped.push_back(pass);
    BOOST_TEST((pass == "precision" ? before == after : true), pass);
    if (pass == "lower.final") BOOST_TEST(before.starts_with("groups final"));
    if (pass == "lower.final") BOOST_TEST(after.starts_with("schedule final"));
  };
  const Compiled compiled = compile(small_convnet(4), options);
  std::vector<std::string> reported;
  for (const PassReport& report : compiled.passes) {
    reported.push_back(report.name);
    std::replace(reported.back().begin(), reported.back().end(), ' ', '.');
  }
  BOOST_TEST(dumped == reported);
  const std::vector<std::string> ends{"fuse.final", "order.final", "lower.final", "plan_memory.final"};
  BOOST_TEST(std::vector<std::string>(reported.end() - 4, reported.end()) == ends);
  for (const char* pass : {"differentiate", "tables", "cut", "fuse.prepare"})
    BOOST_TEST(std::count(reported.begin(), reported.end(), pass) == 1, pass);
}

BOOST_AUTO_TEST_CASE(groups_out_of_order_are_refused) {
  Graph g("g");
  const Tensor x = input(g, "x", DType::f32, {64, 8}, "NC");
  g.outputs.push_back({"y", sum(exp(x) * sum(x, {0}), {0}).value(), Merge::sum});
  CompileOptions options;
  options.target = generic_cpu_target();
  std::vector<Group> groups = order(g, fuse(g, options.target)).groups;
  BOOST_REQUIRE(groups.size() > 1);
  BOOST_CHECK_NO_THROW(verify_order(g, groups));
  std::reverse(groups.begin(), groups.end());
  BOOST_CHECK_THROW(verify_order(g, groups), InternalError);
}

BOOST_AUTO_TEST_CASE(random_graphs_equal_their_interpretation) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) check_compiled(random_graph(seed));
  }
}

BOOST_AUTO_TEST_CASE(random_graphs_lowered_for_a_gpu_equal_their_interpretation) {
  CheckOptions options;
  options.target = gpu_target("sm_90");
  options.check_passes = false;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) check_compiled(random_graph(seed), options);
  }
}

BOOST_AUTO_TEST_CASE(random_training_graphs_equal_their_interpretation) {
  RandomGraphOptions smooth;
  smooth.smooth = true;
  CheckOptions options;
  options.optimizer = plain_sgd();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) check_compiled(random_graph(seed, smooth), options);
  }
}

// Channels lie in blocks, which layout gives to most convolutions here and recompute to some activations.
BOOST_AUTO_TEST_CASE(random_graphs_of_blocked_images_equal_their_interpretation) {
  CheckOptions options;
  options.target.library_isa = "avx2";
  int blocked = 0, again = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const bool trains = seed % 2 == 1;
    options.optimizer = trains ? plain_sgd() : UpdateRule();
    options.tolerance = trains ? 1e-4 : 2e-5;
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Compiled compiled = check_compiled(
          random_graph(seed, {.min_steps = 10, .max_steps = 25, .smooth = trains, .blocks = true}), options);
      blocked += std::ranges::any_of(compiled.program.at(PartRole::final).graph->nodes, lies_in_blocks);
      again += !compiled.recomputed.empty();
    }
  }
  BOOST_TEST_MESSAGE(blocked << " blocked, " << again << " recomputed");
  BOOST_TEST(blocked >= 20);
  BOOST_TEST(again >= 3);
}

// A GPU's images lie channels last. A GPU of unknown memory computes activations again, as one of little memory does.
BOOST_AUTO_TEST_CASE(random_training_graphs_of_images_for_a_gpu_equal_their_interpretation) {
  CheckOptions options;
  options.target = gpu_target("sm_90");
  options.target.memory_bytes = 0;
  options.optimizer = plain_sgd();
  options.tolerance = 1e-4;
  int again = 0;
  for (uint32_t seed = 100; seed < 110; ++seed) BOOST_TEST_CONTEXT("seed " << seed)
  again +=
      !check_compiled(random_graph(seed, {.min_steps = 10, .max_steps = 25, .smooth = true, .blocks = true}), options)
           .recomputed.empty();
  BOOST_TEST(again >= 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::pipeline_test
