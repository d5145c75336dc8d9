// Tests recurrent layers against plain loops in double, and their parameters against PyTorch's names and shapes.
#include "graph/recurrent.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/support/says.h"

namespace kb::recurrent_test {
namespace {

constexpr size_t kSamples = 3, kLength = 4, kInputs = 5, kFeatures = 2;

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one sample's, a row a step

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// A layer's parameters by their names in PyTorch, such as weight_ih_l0.
struct PlainLayer {
  const Bindings& bindings;
  int layer;

  // Returns row `row` of the product with a vector, and its bias.
  double of(const char* part, size_t row, const Row& x) const {
    const std::string suffix = std::string("_") + part + "_l" + std::to_string(layer);
    double y = bindings.at("net.bias" + suffix).data.at(row);
    for (size_t i = 0; i < x.size(); ++i) y += bindings.at("net.weight" + suffix).data.at(row * x.size() + i) * x[i];
    return y;
  }
};

Rows plain_lstm(const Rows& x, const PlainLayer& layer) {
  Rows states;
  Row h(kFeatures, 0), c(kFeatures, 0);
  for (const Row& input : x) {
    Row next(kFeatures);
    for (size_t k = 0; k < kFeatures; ++k) {
      const auto gate = [&](size_t number) {
        return layer.of("ih", number * kFeatures + k, input) + layer.of("hh", number * kFeatures + k, h);
      };
      c[k] = logistic(gate(1)) * c[k] + logistic(gate(0)) * std::tanh(gate(2));
      next[k] = logistic(gate(3)) * std::tanh(c[k]);
    }
    states.push_back(h = next);
  }
  return states;
}

Rows plain_gru(const Rows& x, const PlainLayer& layer) {
  Rows states;
  Row h(kFeatures, 0);
  for (const Row& input : x) {
    Row next(kFeatures);
    for (size_t k = 0; k < kFeatures; ++k) {
      const auto from = [&](const char* part, size_t gate) {
        return layer.of(part, gate * kFeatures + k, part[0] == 'i' ? input : h);
      };
      const double r = logistic(from("ih", 0) + from("hh", 0)), z = logistic(from("ih", 1) + from("hh", 1));
      next[k] = (1 - z) * std::tanh(from("ih", 2) + r * from("hh", 2)) + z * h[k];
    }
    states.push_back(h = next);
  }
  return states;
}

using Layer = Tensor (*)(const std::string&, Tensor, int64_t, const RecurrentOptions&, Where);

Tensor sequence(Graph& graph, DType dtype = DType::f64) {
  return input(graph, "x", dtype, {int64_t{kSamples}, int64_t{kLength}, int64_t{kInputs}}, "NTC");
}

void check_two_layers(Layer layer, Rows (*plain)(const Rows&, const PlainLayer&)) {
  Graph graph;
  const Value y = layer("net", sequence(graph), int64_t{kFeatures}, {.layers = 2}, Where::current()).value();
  const Bindings bindings = random_bindings(graph, 7);
  const Array got = interpret_values(graph, bindings, {&y, 1}).at(0);
  BOOST_TEST(got.type.shape == (Dims{kSamples, kLength, kFeatures}));
  for (size_t n = 0; n < kSamples; ++n) {
    Rows x;
    const auto begin = bindings.at("x").data.begin() + static_cast<std::ptrdiff_t>(n * kLength * kInputs);
    for (size_t t = 0; t < kLength; ++t) {
      const auto row = begin + static_cast<std::ptrdiff_t>(t * kInputs);
      x.emplace_back(row, row + kInputs);
    }
    const Rows expected = plain(plain(x, {bindings, 0}), {bindings, 1});
    for (size_t t = 0; t < kLength; ++t)
      for (size_t k = 0; k < kFeatures; ++k)
        BOOST_TEST(std::abs(got.data.at((n * kLength + t) * kFeatures + k) - expected[t][k]) < 1e-14);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recurrent)

BOOST_AUTO_TEST_CASE(lstm_is_its_definition) { check_two_layers(lstm, plain_lstm); }
BOOST_AUTO_TEST_CASE(gru_is_its_definition) { check_two_layers(gru, plain_gru); }

BOOST_AUTO_TEST_CASE(parameters_are_those_of_pytorch) {
  Graph graph;
  gru("net", sequence(graph, DType::bf16), 2, {.layers = 2});
  std::string names;
  for (const Variable& v : graph.variables) names += v.name + " " + to_string(v.type) + "\n";
  BOOST_TEST(names ==
             "net.weight_ih_l0 f32[O=6,I=5]\nnet.bias_ih_l0 f32[C=6]\nnet.weight_hh_l0 f32[O=6,I=2]\n"
             "net.bias_hh_l0 f32[C=6]\nnet.weight_ih_l1 f32[O=6,I=2]\nnet.bias_ih_l1 f32[C=6]\n"
             "net.weight_hh_l1 f32[O=6,I=2]\nnet.bias_hh_l1 f32[C=6]\n");
  for (const Variable& v : graph.variables)
    for (const double number : initial_value(v, 3).data) BOOST_TEST(std::abs(number) <= 1 / std::sqrt(2.0));
}

// The second and the third of three layers read states some of which are 0; the last layer's are all given.
BOOST_AUTO_TEST_CASE(dropout_is_between_layers) {
  const auto draws = [](Mode mode, int64_t layers) {
    Graph graph("net", mode);
    lstm("net", sequence(graph), 2, {.layers = layers, .dropout = 0.5});
    return std::ranges::count(graph.nodes, Op::random_bits, &Node::op);
  };
  BOOST_TEST(draws(Mode::training, 3) == 2);
  BOOST_TEST(draws(Mode::inference, 3) == 0);
  BOOST_CHECK_EXCEPTION(draws(Mode::training, 1), Error, test::says("lstm: dropout in a single layer"));
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused) {
  Graph graph;
  const Tensor x = sequence(graph);
  BOOST_CHECK_THROW(lstm("a", mean(x, {1}), 2), Error);
  BOOST_CHECK_THROW(lstm("b", x, 0), Error);
  BOOST_CHECK_THROW(gru("c", x, 2, {.layers = 0}), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::recurrent_test
