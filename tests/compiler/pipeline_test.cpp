// The whole pipeline against the graph interpreter: a small training step, inference, random graphs.
#include "compiler/pipeline.h"

#include <boost/test/unit_test.hpp>

#include "tests/compile_check.h"
#include "tests/random_graph.h"

using namespace kb;
using namespace kb::test;

BOOST_AUTO_TEST_SUITE(pipeline)

BOOST_AUTO_TEST_CASE(a_training_step_equals_its_interpretation) {
  CheckOptions options;
  options.optimizer = momentum_sgd();
  Compiled compiled = check_compiled(small_convnet(4), options);
  BOOST_TEST(compiled.space.find("block.conv1.weight") != nullptr);
  BOOST_TEST(compiled.program.final.arena_bytes <=
             1.2 * static_cast<double>(compiled.program.final.liveness_bound_bytes));
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
  BOOST_TEST(second.program.final.graph->writes.empty());
}

BOOST_AUTO_TEST_CASE(another_minibatch_makes_the_same_kernels) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.optimizer = momentum_sgd();
  Compiled a = compile(small_convnet(16), options), b = compile(small_convnet(48), options);
  const auto& first = a.program.final.kernels;
  const auto& second = b.program.final.kernels;
  BOOST_REQUIRE(first.size() == second.size());
  for (size_t i = 0; i < first.size(); ++i) BOOST_TEST(first[i].name == second[i].name);
}

BOOST_AUTO_TEST_CASE(random_graphs_equal_their_interpretation) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) check_compiled(random_graph(seed));
  }
}

BOOST_AUTO_TEST_CASE(random_graphs_lowered_for_a_gpu_equal_their_interpretation) {
  CheckOptions options;
  options.target = gpu_target("sm_90");
  options.check_passes = false;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) check_compiled(random_graph(seed), options);
  }
}

BOOST_AUTO_TEST_CASE(random_training_graphs_equal_their_interpretation) {
  RandomGraphOptions smooth;
  smooth.smooth = true;
  CheckOptions options;
  options.optimizer = plain_sgd();
  for (uint32_t seed = 0; seed < 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) check_compiled(random_graph(seed, smooth), options);
  }
}

BOOST_AUTO_TEST_SUITE_END()
