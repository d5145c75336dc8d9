// Tests gradients of whole networks against finite differences in double.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "compiler/passes/passes.h"
#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/recurrent.h"
#include "graph/scope.h"
#include "graph/transformer.h"

namespace kb::network_gradients_test {
namespace {

// Two layers with a normalisation and dropout between them.
Tensor sub_network(const Tensor& x) {
  const Tensor hidden = dropout("drop", layer_norm("norm", tanh(linear("fc1", x, 6))), 0.25);
  return linear("fc2", group_norm("groups", hidden, {.groups = 2}), 3);
}

// The second call reads the result of the first.
Tensor called_twice(Graph& graph) {
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

// A block of a transformer with a causal attention of two heads.
Tensor transformer_block(Graph& graph) {
  const Tensor x = input(graph, "x", DType::f64, {2, 3, 4}, "NTC");
  const Tensor all = linear("c_attn", layer_norm("ln_1", x), 12, {.weight_in_out = true});
  const Tensor seen = attention(slice(all, 2, 0, 4), slice(all, 2, 4, 8), slice(all, 2, 8, 12), {2, true});
  const Tensor y = x + linear("c_proj", seen, 4);
  return sum(y * gelu_tanh(linear("c_fc", layer_norm("ln_2", y), 4)));
}

// A decoder layer over an encoder's, of samples whose lengths differ.
Tensor encoder_and_decoder(Graph& graph) {
  const Tensor x = input(graph, "x", DType::f64, {2, 3, 4}, "NTC"), y = input(graph, "y", DType::f64, {2, 2, 4}, "NTC");
  const Tensor lengths = constant(graph, DType::i32, {2}, {3, 1});
  TransformerOptions options{.heads = 2, .hidden = 3, .dropout = 0.25, .activation = [](Tensor h) { return tanh(h); }};
  const Tensor memory = encoder_layer("encoder", x, options, {.lengths = lengths});
  options.pre_norm = true;
  const Tensor z = decoder_layer("decoder", y, memory, options, {.causal = true}, {.lengths = lengths});
  return sum(z * sin(z));
}

// An LSTM that reads the states of a GRU and begins with its last ones, over an image's columns that a transposed
// convolution has widened. The GRU has two directions, and the samples have 4 and 3 columns.
Tensor recurrent_network(Graph& graph) {
  const Tensor x = input(graph, "x", DType::f64, {2, 1, 2, 2}, "NCHW");
  const Tensor wide = conv_transpose2d("up", x, 1, {.kernel = {1, 2}, .stride = {1, 2}, .bias = true});
  const Tensor columns = transpose(reshape(wide, {2, 2, 4}), {0, 2, 1});
  const Tensor lengths = constant(graph, DType::i32, {2}, {4, 3});
  const RecurrentResult read = gru_with_states("gru", columns, 2, {.bidirectional = true, .lengths = lengths});
  const Tensor y = lstm("lstm", read.output, 2, {.layers = 2, .hidden = read.hidden, .cell = sin(read.hidden)});
  return sum(y * sin(y));
}

// The feed-forward part of a decoder as in Touvron et al. 2023: a norm over the last axis, and another over two.
Tensor gated_part(Graph& graph) {
  const Tensor x = input(graph, "x", DType::f64, {2, 3, 4}, "NTC"), normed = rms_norm("norm", x);
  const Tensor gate = silu(linear("gate", normed, 5, {.bias = false})), up = linear("up", normed, 5, {.bias = false});
  const Tensor y = rms_norm("last", x + linear("down", gate * up, 4), {.axes = 2, .epsilon = 0.25});
  return sum(y * sin(y));
}

// Compares the gradient of the loss by each parameter, element by element, with a difference quotient of order 4.
void check_gradients(Graph& graph, Tensor loss) {
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

}  // namespace

BOOST_AUTO_TEST_SUITE(network_gradients)

BOOST_AUTO_TEST_CASE(of_a_network_that_is_called_twice) {
  Graph graph("twice");
  check_gradients(graph, called_twice(graph));
}

BOOST_AUTO_TEST_CASE(of_a_block_of_a_transformer) {
  Graph graph("transformer");
  check_gradients(graph, transformer_block(graph));
}

BOOST_AUTO_TEST_CASE(of_a_gated_feed_forward_part) {
  Graph graph("gated");
  check_gradients(graph, gated_part(graph));
}

BOOST_AUTO_TEST_CASE(of_an_encoder_and_a_decoder_layer) {
  Graph graph("translator");
  check_gradients(graph, encoder_and_decoder(graph));
}

BOOST_AUTO_TEST_CASE(of_a_recurrent_network) {
  Graph graph("recurrent");
  check_gradients(graph, recurrent_network(graph));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::network_gradients_test
