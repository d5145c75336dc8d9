// Tests the words that describe the steps of whole programs, and the steps' phases.
#include "compiler/schedule/describe_steps.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "graph/functions.h"
#include "graph/layers.h"
#include "tests/support/compile_check.h"
#include "tests/support/hand_step.h"
#include "tests/support/support.h"

namespace kb::describe_steps_test {
namespace {

struct Described {
  Compiled compiled;
  std::vector<StepDescription> prepare, steps;

  explicit Described(Graph graph, UpdateRule rule = test::momentum_sgd(), Workers workers = {},
                     const Target& target = generic_cpu_target()) {
    CompileOptions options;
    options.target = target;
    if (rule) options.groups = {{.rule = std::move(rule)}};
    options.workers = workers;
    compiled = compile(std::move(graph), options);
    prepare = describe_steps(compiled.program.at(PartRole::prepare));
    steps = describe_steps(compiled.program.at(PartRole::final));
  }

  std::string all() const {
    std::string text;
    for (const StepDescription& step : steps) text += std::string(name(step.phase)) + ": " + step.text() + "\n";
    return text;
  }

  // Fails the test unless exactly one step is described so.
  void has(Phase phase, const std::string& text) const {
    const auto is_it = [&](const StepDescription& step) { return step.phase == phase && step.text() == text; };
    BOOST_TEST(std::count_if(steps.begin(), steps.end(), is_it) == 1, text << " in\n" << all());
  }
};

Graph convnet() {
  Graph graph("net");
  Tensor x = input(graph, "x", DType::f32, {8, 3, 8, 8}, "NCHW");
  const Tensor labels = index_input(graph, "labels", {8}, 10, "N");
  {
    const Scope scope("block1");
    x = relu(batch_norm("bn", conv2d("conv", x, 16, {.padding = 1})));
    x = max_pool2d(x, {.kernel = 2});
  }
  x = relu(conv2d("conv2", x, 16, {.kernel = 5, .padding = 2, .bias = true}));
  x = conv2d("conv3", x, 32, {.kernel = 1});
  const Tensor logits = linear("fc", flatten(x), 10);
  graph.outputs.push_back({"loss", sum(cross_entropy(logits, labels)).value(), Merge::sum});
  return graph;
}

BOOST_AUTO_TEST_SUITE(describe_steps)

BOOST_AUTO_TEST_CASE(a_training_step_is_described_by_what_it_does) {
  const Described net(convnet());
  net.has(Phase::forward, "conv 3x3  block1.conv");
  net.has(Phase::forward, "batch norm statistics  block1.bn");
  net.has(Phase::forward, "batch norm + relu  block1.bn");
  net.has(Phase::forward, "max pool 2x2  block1");
  net.has(Phase::forward, "cross-entropy and its gradient");
  net.has(Phase::forward, "sum of loss");
  net.has(Phase::backward, "gradient of bias  fc");
  net.has(Phase::backward, "gradient of linear, weights  fc");
  net.has(Phase::backward, "gradient of linear, input  fc");
  net.has(Phase::backward, "gradient of conv 5x5, input  conv2");
  net.has(Phase::backward, "gradient of conv 5x5, weights  conv2");
  net.has(Phase::backward, "gradient of conv 3x3, weights  block1.conv");
  net.has(Phase::backward, "gradient of max pool 2x2  block1");
  net.has(Phase::backward, "gradient of relu + batch norm, weights  block1.bn");
  net.has(Phase::backward, "gradient of batch norm, input  block1.bn");
  net.has(Phase::update, "update parameters");
}

// A GPU's program has other layouts and other launches, but is described in the same words.
BOOST_AUTO_TEST_CASE(a_step_for_a_gpu_is_described_by_what_it_does) {
  const Described net(convnet(), test::momentum_sgd(), {}, gpu_target("sm_90"));
  net.has(Phase::forward, "conv 3x3  block1.conv");
  net.has(Phase::forward, "conv 1x1  conv3");
  net.has(Phase::backward, "gradient of conv 1x1, input  conv3");
  net.has(Phase::forward, "batch norm statistics  block1.bn");
  net.has(Phase::forward, "cross-entropy and its gradient");
  net.has(Phase::backward, "gradient of conv 5x5, weights  conv2");
  net.has(Phase::update, "update parameters");
}

// In a step of one worker all forward steps come first, then all backward steps, then the update.
BOOST_AUTO_TEST_CASE(phases_follow_each_other) {
  const Described net(convnet());
  BOOST_TEST(std::is_sorted(net.steps.begin(), net.steps.end(),
                            [](const StepDescription& a, const StepDescription& b) { return a.phase < b.phase; }),
             net.all());
  for (const StepDescription& step : net.prepare) BOOST_TEST((step.phase == Phase::prepare), step.text());
}

BOOST_AUTO_TEST_CASE(a_program_for_inference_is_all_forward) {
  Graph graph("net", Mode::inference);
  const Tensor x = input(graph, "x", DType::f32, {8, 3, 8, 8}, "NCHW");
  const Tensor y = relu(batch_norm("bn", conv2d("conv", x, 16, {.padding = 1})));
  graph.outputs.push_back({"y", y.value(), Merge::per_sample});
  const Described net(std::move(graph), {});
  net.has(Phase::forward, "conv 3x3  conv");
  net.has(Phase::forward, "batch norm + relu  bn");
  for (const StepDescription& step : net.steps) BOOST_TEST((step.phase == Phase::forward), step.text());
}

BOOST_AUTO_TEST_CASE(a_step_of_several_processes_starts_and_awaits_sums) {
  const Described net(convnet(), test::momentum_sgd(), {.processes = 2, .bucket_bytes = 1});
  net.has(Phase::update, "wait for all-reduce 1");
  net.has(Phase::update, "write loss");
  net.has(Phase::forward, "conv 3x3  block1.conv");
  net.has(Phase::backward, "gradient of conv 3x3, weights  block1.conv");
  BOOST_TEST(test::contains(net.all(), "start all-reduce 1"));
  net.has(Phase::update, "update parameters");
}

BOOST_AUTO_TEST_CASE(virtual_workers_have_phases_too) {
  Described net(convnet(), test::momentum_sgd(), {.virtual_workers = 4});
  net.steps = kb::describe_steps(net.compiled.program.at(PartRole::micro));
  net.has(Phase::forward, "conv 3x3  block1.conv");
  net.has(Phase::backward, "gradient of conv 3x3, weights  block1.conv");
  for (const StepDescription& step : net.steps) BOOST_TEST((step.phase != Phase::update), step.text());
  for (const StepDescription& step : kb::describe_steps(net.compiled.program.at(PartRole::carry)))
    BOOST_TEST(step.what == "add partial sums");
}

// A step that has no nodes to describe keeps the name that the schedule gave it.
BOOST_AUTO_TEST_CASE(steps_without_nodes_keep_their_names) {
  Schedule schedule;
  schedule.steps.push_back(test::hand_step(FusionClass::copy));
  schedule.steps.back().name = "save for x";
  BOOST_TEST(kb::describe_steps(schedule).at(0).text() == "save for x");
}

BOOST_AUTO_TEST_CASE(a_description_is_cut_to_its_column) {
  const StepDescription step{"gradient of conv 3x3, weights", "layer1.0.conv2", Phase::backward};
  BOOST_TEST(step.text(60) == "gradient of conv 3x3, weights  layer1.0.conv2");
  BOOST_TEST(step.text(45) == "gradient of conv 3x3, weights  layer1.0.conv2");
  BOOST_TEST(step.text(40) == "gradient of conv 3x3, weights  0.conv2");
  BOOST_TEST(step.text(30) == "gradient of..., weights  conv2");
  for (size_t columns = 4; columns < 60; ++columns) BOOST_TEST(step.text(columns).size() <= columns);
  BOOST_TEST(step.text(24) == "gradient of co...  conv2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::describe_steps_test
