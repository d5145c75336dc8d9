// Networks of signals (N, C, L) through the compiler: gradients against finite differences in double, layouts, whole
// programs against their interpretation.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "compiler/passes.h"
#include "graph/layers.h"
#include "graph/text.h"
#include "tests/compile_check.h"

using namespace kb;
using namespace kb::test;

namespace {

Tensor tower(Tensor x) {
  x = relu(batch_norm("bn1", conv1d("conv1", x, 16, {.kernel = 3, .padding = 1})));
  x = max_pool1d(x, {.kernel = 2});
  x = batch_norm("bn2", conv1d("conv2", x, 32, {.kernel = 5, .stride = 2, .padding = 2, .bias = true}));
  return avg_pool1d(x, {.kernel = 2});
}

Graph network(DType dtype, int64_t n) {
  Graph g("final", Mode::training);
  const Tensor x = input(g, "signals", dtype, {n, 3, 24}, "NCL");
  const Tensor weights = input(g, "weights", dtype, {n}, "N");
  const Tensor y = linear("fc", global_avg_pool(tower(x)), 5);
  g.outputs.push_back({"loss", sum(sum(y * y, {1}) * weights).value(), Merge::sum});
  return g;
}

double loss_at(const Graph& graph, const Bindings& bindings) {
  return interpret(graph, bindings).outputs.at("loss").data.at(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signals)

BOOST_AUTO_TEST_CASE(gradients_equal_finite_differences) {
  Graph graph = network(DType::f64, 3);
  const std::vector<std::string> names{"conv1.weight", "conv2.weight", "conv2.bias", "bn2.weight"};
  Bindings bindings = random_bindings(graph, 11);
  std::vector<Tensor> parameters;
  for (const std::string& name : names) parameters.emplace_back(graph, graph.read(name));
  const Graph before = graph;
  const std::vector<Tensor> found = gradients(Tensor(graph, graph.outputs[0].value), parameters);
  for (size_t p = 0; p < names.size(); ++p) {
    const Value value = found[p].value();
    const Array gradient = interpret_values(graph, bindings, {&value, 1}).at(0);
    double largest = 0, error = 0;
    for (size_t i = 0; i < gradient.data.size(); ++i) {
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
    BOOST_TEST(largest > 0);
    BOOST_TEST(error <= 1e-6 * std::max(largest, 1.0), names[p] << ": " << error << " of " << largest);
  }
}

// Between the convolutions nothing is transposed: signals stay where the library wants them.
BOOST_AUTO_TEST_CASE(layouts_reach_through_the_network) {
  for (const char* isa : {"avx512", "avx2", "generic"}) {
    Graph g("signals");
    Tensor y = tower(input(g, "x", DType::f32, {2, 3, 24}, "NCL"));
    y = conv1d("conv3", relu(y), 32, {.kernel = 3});
    g.outputs.push_back({"y", global_avg_pool(y).value(), Merge::per_sample});
    CompileOptions options;
    options.target = generic_cpu_target();
    options.target.library_isa = isa;
    CompileState state{options, {}, {}};
    const Graph after = apply_layout(g, state);
    verify(after);
    const auto transposes = std::count_if(after.nodes.begin(), after.nodes.end(), [&](const Node& node) {
      return node.op == Op::transpose && after.node(node.inputs[0]).op != Op::variable;
    });
    BOOST_TEST_CONTEXT(isa << "\n" << to_text(after)) BOOST_TEST(transposes <= 1);
  }
}

BOOST_AUTO_TEST_CASE(a_training_step_equals_its_interpretation) {
  for (const bool gpu : {false, true})
    for (const char* isa : {"avx512", "generic"}) {
      CheckOptions options;
      options.optimizer = plain_sgd();
      options.target = gpu ? gpu_target("sm_90") : generic_cpu_target();
      if (!gpu) options.target.library_isa = isa;
      check_compiled(network(DType::f32, 4), options);
    }
  CheckOptions wide;
  wide.optimizer = plain_sgd();
  wide.precision = Precision::f64;
  check_compiled(network(DType::f64, 3), wide);
}

BOOST_AUTO_TEST_SUITE_END()
