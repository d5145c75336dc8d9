// Layer-wise rules at values for which other implementations differ between GPU and CPU. The CPU's compiled kernels and
// a GPU's emulated ones are compared with the graph interpreter.
#include "optim/layer_wise_rules.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/functions.h"
#include "optim/optimizer.h"
#include "tests/simt/emulated_graphs.h"

namespace kb::layer_wise_test {
namespace {

struct Layer {
  const char* name;
  Role role;
  int64_t length;
  bool weights, gradient;  // false: all values are zero
};
// A block of the parameter space has 1024 elements, so the first layer has two blocks.
constexpr Layer kLayers[] = {
    {"w", Role::weight, 1500, true, true},         {"no_weights", Role::weight, 30, false, true},
    {"no_gradient", Role::weight, 7, true, false}, {"neither", Role::weight, 3, false, false},
    {"bias", Role::bias, 5, false, true},          {"scale", Role::norm_scale, 5, true, true}};

double value(int64_t i) { return 0.3 * std::sin(12.9898 * static_cast<double>(i + 1)); }

Graph layers_and_gradients() {
  Graph graph("final");
  Tensor loss;
  for (const Layer& layer : kLayers) {
    Tensor w = parameter(graph, layer.name, layer.role, {DType::f32, {layer.length}, ""}, {});
    Tensor products = sum(w * input(graph, std::string("gradient.") + layer.name, DType::f32, {layer.length}));
    loss = loss.valid() ? loss + products : products;
  }
  graph.outputs.push_back({"loss", loss.value(), Merge::sum});
  return graph;
}

Array number(double x) { return {{DType::f32, {}, ""}, {static_cast<float>(x)}}; }

Array values_of(const Layer& layer, bool filled, int64_t salt) {
  Array array{{DType::f32, {layer.length}, ""}, {}};
  for (int64_t i = 0; i < layer.length; ++i) array.data.push_back(filled ? static_cast<float>(value(i + salt)) : 0);
  return array;
}

// Returns parameters with zeros after the end of each layer, and slots of zeros, as in a first step.
Bindings first_step(const Graph& graph, const test::CheckOptions& check, const Optimizer& optimizer, double decay,
                    double epsilon) {
  CompileOptions options;
  options.target = check.target;
  options.groups = {{.rule = check.optimizer}};
  const Compiled compiled = compile(graph, options);
  Bindings bindings;
  const Type flat{DType::f32, {compiled.space.length}, ""};
  const Array zeros{flat, std::vector<double>(static_cast<size_t>(compiled.space.length))};
  for (const Variable& variable : compiled.variables)
    if (variable.kind == VariableKind::slot) bindings[variable.name] = zeros;
  Array& parameters = bindings["flat.parameters"] = zeros;
  for (const Layer& layer : kLayers) {
    const Array w = values_of(layer, layer.weights, 100);
    std::copy(w.data.begin(), w.data.end(), parameters.data.begin() + compiled.space.find(layer.name)->offset);
    bindings[std::string("gradient.") + layer.name] = values_of(layer, layer.gradient, 200);
  }
  std::vector<NamedScalar> hyper{{"weight_decay", decay}};
  if (optimizer.reads("epsilon")) hyper.push_back({"epsilon", epsilon});
  StepScalars scalars(LearningRate({.learning_rate = optimizer.learning_rate}), optimizer, hyper);
  for (const NamedScalar& scalar : scalars.at(0)) bindings[scalar.name] = number(scalar.value);
  return bindings;
}

void check_finite(const test::Judged& judged, const std::string& what) {
  for (const auto& [name, array] : judged.expected.writes)
    BOOST_TEST(std::ranges::all_of(array.data, [](double x) { return std::isfinite(x); }), what << ": " << name);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layer_wise)

// The layers are without weights, without gradient, or without both; biases and norms are left out; weight decay and
// epsilon may be 0.
BOOST_AUTO_TEST_CASE(cpu_gpu_and_interpreter_agree_where_norms_are_0) {
  simt::EmulatedGraphs graphs;
  const Graph graph = layers_and_gradients();
  for (const Optimizer& optimizer : optimizers()) {
    if (!optimizer.name.starts_with("la")) continue;
    for (const double decay : {0.0, 0.01})
      for (const double epsilon : {0.0, 1e-6}) {
        if (epsilon > 0 && !optimizer.reads("epsilon")) continue;
        test::CheckOptions options = test::on_gpu(1e-6);
        options.optimizer = update_rule(optimizer);
        options.bindings = first_step(graph, options, optimizer, decay, epsilon);
        const std::string what = std::string(optimizer.name) + ", decay " + std::to_string(decay);
        check_finite(compile_and_interpret(graph, options), what);
        graphs.add_beside_cpu(what, graph, options);
      }
  }
  graphs.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::layer_wise_test
