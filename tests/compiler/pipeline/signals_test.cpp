// Tests the compiler on networks of signals (N, C, L): gradients against finite differences in double, layouts, and
// whole programs against their interpretation.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compiler/pipeline/pipeline.h"
#include "graph/text.h"
#include "tests/support/compile_check.h"

namespace kb::signals_test {

using namespace kb::test;

namespace {

double loss_at(const Graph& graph, const Bindings& bindings) {
  return interpret(graph, bindings).outputs.at("loss").data.at(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signals)

BOOST_AUTO_TEST_CASE(gradients_equal_finite_differences) {
  Graph graph = small_signal_net(3, DType::f64);
  const std::vector<std::string> names{"conv1.weight", "conv2.weight", "conv3.weight", "conv3.bias"};
  Bindings bindings = random_bindings(graph, 11);
  std::vector<Tensor> parameters;
  for (const std::string& name : names) parameters.emplace_back(graph, graph.read(name));
  const Graph before = graph;
  const std::vector<Tensor> found = gradients(Tensor(graph, graph.outputs[0].value), parameters);
  for (size_t p = 0; p < names.size(); ++p) {
    const Value value = found[p].value();
    const Array gradient = interpret_values(graph, bindings, {&value, 1}).at(0);
    double largest = 0, error = 0;
    for (size_t i = p % 3; i < gradient.data.size(); i += 3) {  // one element of three
      constexpr double kStep = 1e-5;
      double& element = bindings.at(names[p]).data[i];
      const double middle = element;
      element = middle + kStep;
      const double above = loss_at(before, bindings);
      element = middle - kStep;
      const double below = loss_at(before, bindings);
      element = middle;
      largest = std::max(largest, std::abs(gradient.data[i]));
      error = std::max(error, std::abs((above - below) / (2 * kStep) - gradient.data[i]));
    }
    BOOST_TEST(largest > 1e-3);
    BOOST_TEST(error <= 1e-6 * std::max(largest, 1.0), names[p] << ": " << error << " of " << largest);
  }
}

// Neither the forward nor the backward pass transposes a signal, because all layers keep the library's layout.
BOOST_AUTO_TEST_CASE(layouts_reach_through_the_network) {
  for (const char* isa : {"avx512", "avx2", "generic"}) {
    CompileOptions options;
    options.target = generic_cpu_target();
    options.target.library_isa = isa;
    options.groups = {{.rule = plain_sgd()}};
    CompileState state{options, {}, {}};
    std::vector<PassReport> reports;
    const Graph after = run_graph_passes(small_signal_net(2), state, reports);
    const auto transposes = std::count_if(after.nodes.begin(), after.nodes.end(),
                                          [](const Node& node) { return node.op == Op::transpose; });
    BOOST_TEST_CONTEXT(isa << "\n" << to_text(after)) BOOST_TEST(transposes == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_training_step_equals_its_interpretation) {
  for (const bool gpu : {false, true})
    for (const char* isa : {"avx512", "generic"}) {
      CheckOptions options;
      options.optimizer = plain_sgd();
      options.target = gpu ? gpu_target("sm_90") : generic_cpu_target();
      if (!gpu) options.target.library_isa = isa;
      check_compiled(small_signal_net(4), options);
    }
  CheckOptions wide;
  wide.optimizer = plain_sgd();
  wide.precision = Precision::f64;
  check_compiled(small_signal_net(3, DType::f64), wide);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::signals_test
