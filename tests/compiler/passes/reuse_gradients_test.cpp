// Tests gradients of a function that calls a sub-network twice against finite differences in double.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "compiler/passes/passes.h"
#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/scope.h"

namespace kb::reuse_gradients_test {
namespace {

// Two layers with a normalisation and dropout between them.
Tensor sub_network(const Tensor& x) {
  const Tensor hidden = dropout("drop", layer_norm("norm", tanh(linear("fc1", x, 5))), 0.25);
  return linear("fc2", hidden, 3);
}

// The second call reads the result of the first.
Tensor loss_of(Graph& graph) {
  const Tensor x = input(graph, "x", DType::f64, {4, 3}, "NC");
  Tensor first;
  {
    const Scope scope("net");
    first = sub_network(x);
  }
  const Reuse again("net");
  const Tensor second = sub_network(sin(first));
  return sum(second * second) + sum(first * x);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reuse_gradients)

BOOST_AUTO_TEST_CASE(of_a_network_that_is_called_twice) {
  Graph graph("twice");
  const Tensor loss = loss_of(graph);
  std::vector<Tensor> parameters;
  for (const Variable& variable : graph.variables) parameters.emplace_back(graph, graph.read(variable.name));
  const std::vector<Tensor> found = gradients(loss, parameters);
  Bindings bindings = random_bindings(graph, 5);
  const auto value = [&](const Tensor& tensor) {
    const Value v = tensor.value();
    return interpret_values(graph, bindings, std::span(&v, 1), {.round = false})[0].data;
  };
  const double h = 1e-3;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const std::string name = graph.variables[p].name;
    const std::vector<double> slopes = value(found[p]);
    for (size_t i = 0; i < slopes.size(); ++i) {
      double& element = bindings.at(name).data.at(i);
      const double centre = element;
      const auto at = [&](double shift) {
        element = centre + shift;
        return value(loss)[0];
      };
      const double difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      element = centre;
      BOOST_TEST(std::abs(slopes[i] - difference) < 1e-7 * std::max(1.0, std::abs(difference)),
                 name << "[" << i << "]: " << slopes[i] << " against " << difference);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::reuse_gradients_test
