// Tests calls of a sub-network on other values (Replaced), as in an evaluation (Evaluated), and moving averages.
#include "graph/sub_network.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "tests/support/says.h"

namespace kb::sub_network_test {
namespace {

using test::says;

constexpr int64_t kSamples = 5, kFeatures = 3;

Tensor net(Tensor x) { return dropout("drop", batch_norm("bn", linear("fc", x, kFeatures)), 0.5); }

Bindings start_of(const Graph& graph) {
  Bindings result = random_bindings(graph, 3);
  for (const Variable& variable : graph.variables) result[variable.name] = initial_value(variable, 1);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sub_network)

// x (2 W)^T + b 3 from the call on other values, beside x W^T + b from the call on the parameters.
BOOST_AUTO_TEST_CASE(a_call_takes_other_values_in_place_of_parameters) {
  Graph graph("replaced", Mode::training);
  Tensor x = input(graph, "x", DType::f64, {kSamples, kFeatures});
  Tensor a, b, after;
  {
    const Scope scope("net");
    a = linear("fc", x, kFeatures);
  }
  const std::vector<Tensor> w = parameters_under(graph, "net");
  BOOST_REQUIRE(w.size() == 2u);
  BOOST_TEST(parameters_under(graph, "").size() == 2u);
  {
    const Reuse again("net");
    {
      const Replaced outer(w, {w[0], w[1] * 3.0});
      const Replaced inner({w[0]}, {w[0] * 2.0});
      BOOST_TEST(replaces_parameters());
      b = linear("fc", x, kFeatures);
    }
    after = linear("fc", x, kFeatures);
  }
  BOOST_TEST(!replaces_parameters());
  BOOST_TEST(graph.variables.size() == 2u);
  const Bindings given = start_of(graph);
  const std::vector<Value> asked = {a.value(), b.value(), after.value()};
  const std::vector<Array> got = interpret_values(graph, given, asked);
  const std::vector<double>& bias = given.at("net.fc.bias").data;
  for (size_t i = 0; i < got[0].data.size(); ++i) {
    const double shift = bias.at(i % kFeatures);
    BOOST_TEST(std::abs(got[1].data[i] - (2 * (got[0].data[i] - shift) + 3 * shift)) < 1e-12);
    BOOST_TEST(got[2].data[i] == got[0].data[i]);
  }
}

// Running statistics are those that the call on the parameters themselves writes, also where they are averaged.
BOOST_AUTO_TEST_CASE(a_call_on_other_values_leaves_running_statistics) {
  for (const Mode mode : {Mode::training, Mode::statistics}) {
    Graph graph("replaced", mode);
    Tensor x = input(graph, "x", DType::f64, {kSamples, kFeatures});
    {
      const Scope scope("net");
      net(x);
    }
    const std::vector<StateWrite> written = graph.writes;
    const std::vector<Tensor> w = parameters_under(graph, "net");
    std::vector<Tensor> twice;
    for (const Tensor& each : w) twice.push_back(2.0 * each);
    const Reuse again("net");
    {
      const Replaced other(w, twice);
      net(x);
    }
    BOOST_REQUIRE(graph.writes.size() == 2u);
    for (size_t i = 0; i < written.size(); ++i) BOOST_TEST((graph.writes[i].value == written[i].value));
    if (mode == Mode::statistics) continue;
    net(x);
    BOOST_TEST(!(graph.writes[0].value == written[0].value));
  }
}

BOOST_AUTO_TEST_CASE(an_evaluated_part_reads_its_statistics_and_keeps_all_elements) {
  Graph graph("evaluated", Mode::training);
  Tensor x = input(graph, "x", DType::f64, {kSamples, kFeatures});
  Tensor part;
  {
    const Evaluated evaluated(graph);
    part = net(x);
  }
  BOOST_TEST((graph.mode == Mode::training));
  BOOST_TEST(graph.writes.empty());
  graph.outputs.push_back({"y", part.value(), Merge::per_sample});
  Graph inference("evaluated", Mode::inference);
  inference.outputs.push_back(
      {"y", net(input(inference, "x", DType::f64, {kSamples, kFeatures})).value(), Merge::per_sample});
  const Bindings given = start_of(graph);
  BOOST_TEST(interpret(graph, given).outputs.at("y").data == interpret(inference, given).outputs.at("y").data);
}

// a <- 0.75 a + 0.25 w from a = w in the first step on, beside a loop over doubles.
BOOST_AUTO_TEST_CASE(averages_begin_at_the_parameters_and_follow_them) {
  const auto averaged = [](Graph& graph) {
    const Tensor w = parameter(graph, "w", Role::weight, {DType::f64, {2}, ""}, {InitKind::normal, 0, 1});
    const std::vector<Tensor> a = moving_averages("target", {w}, 0.75);
    graph.outputs.push_back({"a", a.at(0).value()});
  };
  Graph graph("averages", Mode::training), inference("averages", Mode::inference);
  averaged(graph);
  averaged(inference);
  BOOST_TEST(inference.writes.empty());
  Bindings given = start_of(graph);
  BOOST_TEST(interpret(inference, given).outputs.at("a").data == given.at("w").data);
  std::vector<double> expected = given.at("w").data;
  for (int step = 0; step < 4; ++step) {
    const std::vector<double>& w = given.at("w").data;
    for (size_t i = 0; i < 2; ++i) expected[i] = step == 0 ? w[i] : 0.75 * expected[i] + 0.25 * w[i];
    Interpretation result = interpret(graph, given);
    BOOST_TEST(result.outputs.at("a").data == expected);
    for (auto& [name, value] : result.writes) given[name] = value;
    BOOST_TEST(given.at("target.n_averaged").data.at(0) == step + 1.0);
    BOOST_TEST(interpret(inference, given).outputs.at("a").data == expected);
    for (double& value : given.at("w").data) value = 2 - value / 3;
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_told) {
  Graph graph("mistakes", Mode::training);
  Tensor x = input(graph, "x", DType::f64, {kSamples, kFeatures});
  BOOST_CHECK_EXCEPTION(parameters_under(graph, "net"), Error,
                        says("no parameter was made under the scope 'net'", "call the sub-network under this Scope"));
  linear("fc", x, 2);
  const std::vector<Tensor> w = parameters_under(graph, "fc");
  BOOST_CHECK_EXCEPTION(Replaced(w, std::vector{w[0]}), Error, says("Replaced:", "expected: 2 tensors", "got:      1"));
  BOOST_CHECK_EXCEPTION(Replaced(std::vector{x}, std::vector{x}), Error,
                        says("a tensor is no parameter", "the result of input"));
  BOOST_CHECK_EXCEPTION(Replaced(std::vector{w[0]}, std::vector{w[1]}), Error,
                        says("the value does not fit 'fc.weight'", "f64[O=2,I=3]"));
  BOOST_TEST(!replaces_parameters());
  {
    const Replaced other(w, w);
    BOOST_CHECK_EXCEPTION(linear("new", x, 2), Error, says("'new.weight' is new", "a call under Reuse"));
  }
  BOOST_CHECK_EXCEPTION(moving_averages("target", w, 1.5), Error, says("the decay is out of range", "got:      1.5"));
  BOOST_CHECK_EXCEPTION(moving_averages("target", std::vector{x}, 0.5), Error,
                        says("moving_averages: a tensor is no parameter"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sub_network_test
