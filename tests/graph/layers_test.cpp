// Tests layers: PyTorch's names of parameters, the statistics, and a residual block as a user writes it.
#include "graph/layers.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/interpreter.h"
#include "graph/scope.h"
#include "graph/text.h"

namespace kb::layers_test {
namespace {

constexpr DType f32 = DType::f32, f64 = DType::f64;

// A literal 0 would be a null pointer to letters.
template <class T>
concept NumbersDimensions = requires(T x) {
  x.dim(0);
};
static_assert(!NumbersDimensions<Tensor>);

Tensor basic_block(const std::string& name, Tensor x, int64_t channels, int64_t stride) {
  Scope scope(name);
  Tensor y = relu(batch_norm("bn1", conv2d("conv1", x, channels, {.kernel = 3, .stride = stride, .padding = 1})));
  y = batch_norm("bn2", conv2d("conv2", y, channels, {.kernel = 3, .padding = 1}));
  if (stride != 1 || x.dim("C") != channels)
    x = batch_norm("downsample.1", conv2d("downsample.0", x, channels, {.kernel = 1, .stride = stride}));
  return relu(x + y);
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Variable& variable : graph.variables) result.push_back(variable.name);
  return result;
}

bool near(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::fabs(b); }

// Returns the values of output "y".
std::vector<double> run(const Graph& graph, const Bindings& bindings) {
  return interpret(graph, bindings).outputs.at("y").data;
}

Bindings initial(const Graph& graph) {
  Bindings bindings;
  for (const Variable& variable : graph.variables) bindings[variable.name] = initial_value(variable, 1);
  return bindings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(layers)

BOOST_AUTO_TEST_CASE(a_basic_block_as_designed) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 16, 8, 8}, "NCHW");
  Scope scope("layer1");
  Tensor y = basic_block("0", x, 16, 1);
  BOOST_TEST(to_string(y.type()) == "f32[N=2,C=16,H=8,W=8]");
  BOOST_TEST(graph.variables.size() == 10U);
  y = basic_block("1", y, 32, 2);
  BOOST_TEST(to_string(y.type()) == "f32[N=2,C=32,H=4,W=4]");
  BOOST_TEST(graph.variables.size() == 25U);
  const std::vector<std::string> expected{"layer1.1.conv1.weight",
                                          "layer1.1.bn1.weight",
                                          "layer1.1.bn1.bias",
                                          "layer1.1.bn1.running_mean",
                                          "layer1.1.bn1.running_var",
                                          "layer1.1.conv2.weight",
                                          "layer1.1.bn2.weight",
                                          "layer1.1.bn2.bias",
                                          "layer1.1.bn2.running_mean",
                                          "layer1.1.bn2.running_var",
                                          "layer1.1.downsample.0.weight",
                                          "layer1.1.downsample.1.weight",
                                          "layer1.1.downsample.1.bias",
                                          "layer1.1.downsample.1.running_mean",
                                          "layer1.1.downsample.1.running_var"};
  const std::vector<std::string> got = names(graph);
  BOOST_TEST(std::vector<std::string>(got.begin() + 10, got.end()) == expected);
  BOOST_TEST(graph.writes.size() == 10U);
  verify(graph);
}

BOOST_AUTO_TEST_CASE(training_and_inference_have_the_same_parameters) {
  Graph training("net"), inference("net", Mode::inference);
  for (Graph* graph : {&training, &inference}) {
    Tensor x = input(*graph, "x", f32, {4, 3, 8, 8}, "NCHW");
    linear("fc", dropout("drop", global_avg_pool(basic_block("block", x, 8, 1)), 0.5), 10);
  }
  BOOST_TEST(names(training) == names(inference));
  BOOST_TEST(inference.writes.empty());
  for (const Node& node : inference.nodes) BOOST_TEST((node.op != Op::random_bits && node.op != Op::moments));
}

BOOST_AUTO_TEST_CASE(roles_and_shapes) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 4, 8, 8}, "NCHW");
  conv2d("conv", x, 6, {.kernel = 5, .groups = 2, .bias = true});
  linear("fc", flatten(x), 10);
  layer_norm("ln", flatten(x));
  embedding("tokens", input(graph, "ids", DType::i32, {2, 7}, "NT"), 100, 12);
  const auto is = [&](const char* name, const char* type, Role role) {
    const Variable* variable = graph.find_variable(name);
    BOOST_REQUIRE(variable);
    BOOST_TEST(to_string(variable->type) == type);
    BOOST_TEST((variable->role == role), name);
  };
  is("conv.weight", "f32[O=6,I=2,H=5,W=5]", Role::weight);
  is("conv.bias", "f32[C=6]", Role::bias);
  is("fc.weight", "f32[O=10,I=256]", Role::weight);
  is("fc.bias", "f32[C=10]", Role::bias);
  is("ln.weight", "f32[256]", Role::norm_scale);
  is("ln.bias", "f32[256]", Role::norm_shift);
  is("tokens.weight", "f32[100,12]", Role::embedding);
}

// Ioffe and Szegedy 2015, algorithm 1. The running variance is the unbiased one, and `momentum` is the share of the new
// value, as in PyTorch.
BOOST_AUTO_TEST_CASE(batch_norm_normalises_and_moves_the_running_statistics) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {3, 2}, "NC");
  Tensor y = batch_norm("bn", x, {.epsilon = 0, .momentum = 0.25});
  graph.outputs.push_back({"y", y.value(), Merge::per_sample});
  Bindings bindings = initial(graph);
  bindings["x"] = {x.type(), {1, 10, 2, 10, 6, 40}};
  const Interpretation result = interpret(graph, bindings);
  // Channel 0: mean 3, variance 14/3; channel 1: mean 20, variance 200.
  BOOST_TEST(std::fabs(result.outputs.at("y").data[4] - 3 / std::sqrt(14.0 / 3)) < 1e-12);
  BOOST_TEST(std::fabs(result.outputs.at("y").data[1] + 10 / std::sqrt(200.0)) < 1e-12);
  BOOST_TEST(std::fabs(result.writes.at("bn.running_mean").data[0] - 0.25 * 3) < 1e-12);
  BOOST_TEST(std::fabs(result.writes.at("bn.running_var").data[0] - (0.75 + 0.25 * 7)) < 1e-12);
  BOOST_TEST(std::fabs(result.writes.at("bn.running_var").data[1] - (0.75 + 0.25 * 300)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(batch_norm_at_inference_uses_the_running_statistics) {
  Graph graph("predict", Mode::inference);
  Tensor x = input(graph, "x", f64, {1, 1}, "NC");
  graph.outputs.push_back({"y", batch_norm("bn", x, {.epsilon = 0}).value(), Merge::per_sample});
  Bindings bindings = initial(graph);
  bindings["bn.running_mean"].data = {2};
  bindings["bn.running_var"].data = {4};
  bindings["bn.weight"].data = {3};
  bindings["bn.bias"].data = {1};
  bindings["x"] = {x.type(), {6}};
  BOOST_TEST(run(graph, bindings).at(0) == 7);
}

// If minibatch i = 1, 2, 3 counts with a share of 1/i, the running statistics become the means over the three
// minibatches, whatever they were before.
BOOST_AUTO_TEST_CASE(batch_norm_in_statistics_notes_the_mean_over_minibatches) {
  Graph graph("statistics", Mode::statistics);
  Tensor x = input(graph, "x", f64, {3, 1}, "NC");
  batch_norm("bn", dropout("drop", x, 0.5), {.momentum = 0.25});
  for (const Node& node : graph.nodes) BOOST_TEST((node.op != Op::random_bits));
  Bindings bindings = initial(graph);
  for (const char* name : {"bn.running_mean", "bn.running_var"}) bindings[name].data = {std::nan("")};
  const std::vector<std::vector<double>> minibatches = {{1, 2, 6}, {0, 0, 3}, {5, 7, 9}};  // means 3, 1, 7
  for (size_t i = 0; i < minibatches.size(); ++i) {
    bindings["x"] = {x.type(), minibatches[i]};
    bindings[kStatisticsShare] = {{f64, {}, ""}, {1.0 / static_cast<double>(i + 1)}};
    for (auto& [name, value] : interpret(graph, bindings).writes) bindings[name] = value;
  }
  BOOST_TEST(near(bindings["bn.running_mean"].data[0], 11.0 / 3, 1e-14));
  BOOST_TEST(near(bindings["bn.running_var"].data[0], (7.0 + 3 + 4) / 3, 1e-14));  // unbiased
}

// Ba et al. 2016, equation 3: every row is normalised by its own mean and variance.
BOOST_AUTO_TEST_CASE(layer_norm_normalises_rows) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {2, 1, 2}, "");
  graph.outputs.push_back({"y", layer_norm("ln", x, {.axes = 2, .epsilon = 0}).value(), Merge::per_sample});
  Bindings bindings = initial(graph);
  bindings["ln.weight"].data = {1, 10};
  bindings["ln.bias"].data = {0, 5};
  bindings["x"] = {x.type(), {1, 3, -7, -5}};
  BOOST_TEST(run(graph, bindings) == (std::vector<double>{-1, 15, -1, 15}));
}

// Returns x normalised by Wu and He 2018, equations 1, 6 and 7, in plain loops, with a weight of 1 + c and a bias of c
// / 2 for channel c.
std::vector<double> groups_normalised(const std::vector<double>& x, size_t samples, size_t channels, size_t groups,
                                      size_t plane, double epsilon) {
  const size_t size = channels / groups * plane;
  std::vector<double> y(x.size());
  for (size_t first = 0; first < samples * channels * plane; first += size) {
    double sum = 0, squares = 0;
    for (size_t i = first; i < first + size; ++i) sum += x[i] / static_cast<double>(size);
    for (size_t i = first; i < first + size; ++i) squares += (x[i] - sum) * (x[i] - sum) / static_cast<double>(size);
    for (size_t i = first; i < first + size; ++i) {
      const auto channel = static_cast<double>(i / plane % channels);
      y[i] = (x[i] - sum) / std::sqrt(squares + epsilon) * (1 + channel) + channel / 2;
    }
  }
  return y;
}

BOOST_AUTO_TEST_CASE(group_norm_normalises_groups_of_channels) {
  for (const Dims& shape : {Dims{2, 6, 3, 2}, Dims{3, 6, 4}, Dims{2, 6}})
    for (const int64_t groups : {1, 2, 3, 6}) {
      Graph graph;
      const Tensor x = input(graph, "x", f64, shape, "");
      const Tensor y = group_norm("gn", x, {.groups = groups, .epsilon = 0.25});
      graph.outputs.push_back({"y", y.value(), Merge::per_sample});
      verify(graph);
      BOOST_TEST((y.shape() == shape));
      Bindings bindings = initial(graph);
      for (size_t channel = 0; channel < 6; ++channel) {
        bindings["gn.weight"].data[channel] = 1 + static_cast<double>(channel);
        bindings["gn.bias"].data[channel] = static_cast<double>(channel) / 2;
      }
      std::vector<double> values(static_cast<size_t>(x.type().elements()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(3 * i)) + 10;
      bindings["x"] = {x.type(), values};
      const auto samples = static_cast<size_t>(shape[0]);
      const std::vector<double> expected = groups_normalised(values, samples, 6, static_cast<size_t>(groups),
                                                             values.size() / samples / 6, 0.25),
                                got = run(graph, bindings);
      for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(near(got.at(i), expected[i], 1e-12));
    }
}

// The mean square of the four numbers is 29.
BOOST_AUTO_TEST_CASE(rms_norm_divides_by_the_root_mean_square) {
  Graph graph;
  const Tensor x = input(graph, "x", f64, {1, 2, 2}, "");
  graph.outputs.push_back({"y", rms_norm("rms", x, {.axes = 2, .epsilon = 7}).value(), Merge::per_sample});
  const Bindings bindings{{"x", {x.type(), {1, 3, 5, 9}}},
                          {"rms.weight", {graph.find_variable("rms.weight")->type, {6, 12, 6, -6}}}};
  const std::vector<double> expected{1, 6, 5, -9}, got = run(graph, bindings);
  for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(near(got.at(i), expected[i], 1e-14));
}

BOOST_AUTO_TEST_CASE(linear_keeps_leading_axes) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {2, 3, 4}, "NTC");
  BOOST_TEST(linear("fc", x, 5).shape() == (Dims{2, 3, 5}));
  BOOST_TEST(linear("none", x, 5, {.bias = false}).shape() == (Dims{2, 3, 5}));
  BOOST_TEST(graph.find_variable("none.bias") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_weight_in_out_is_the_other_one_transposed) {
  Graph graph("linear", Mode::inference);
  const Tensor x = input(graph, "x", f64, {2, 3}, "NC");
  graph.outputs.push_back({"y", linear("fc", x, 2, {.bias = false, .weight_in_out = true}).value(), Merge::per_sample});
  BOOST_TEST((graph.find_variable("fc.weight")->type.shape == Dims{3, 2}));
  Bindings bindings;
  bindings["x"] = {x.type(), {1, 2, 3, -1, 0, 1}};
  bindings["fc.weight"] = {graph.find_variable("fc.weight")->type, {1, 10, 2, 20, 3, 30}};
  BOOST_TEST(run(graph, bindings) == (std::vector<double>{14, 140, 2, 20}));
}

BOOST_AUTO_TEST_CASE(parameters_of_low_precision_models_are_f32) {
  Graph graph;
  Tensor x = input(graph, "x", DType::bf16, {2, 3, 8, 8}, "NCHW");
  Tensor y = linear("fc", flatten(batch_norm("bn", conv2d("conv", x, 4, {.padding = 1}))), 10);
  BOOST_TEST((layer_norm("ln", y).dtype() == DType::bf16));
  for (const Variable& variable : graph.variables) BOOST_TEST((variable.type.dtype == DType::f32), variable.name);
  verify(graph);
}

// An element is kept with probability 1 - p and divided by 1 - p, so that the mean stays: Srivastava et al. 2014.
BOOST_AUTO_TEST_CASE(dropout_zeroes_a_share_p_and_keeps_the_mean) {
  Graph graph;
  Tensor x = input(graph, "x", f64, {64, 256}, "NC");
  graph.outputs.push_back({"y", dropout("drop", x, 0.25).value(), Merge::per_sample});
  BOOST_TEST((dropout("none", x, 0).value() == x.value()));
  Bindings bindings;
  bindings["x"] = {x.type(), std::vector<double>(64 * 256, 3)};
  for (const char* scalar : {"step", "worker", "seed"}) bindings[scalar] = {{DType::u32, {}, ""}, {1}};
  int dropped = 0, kept = 0;
  for (const double y : run(graph, bindings)) (y == 0 ? dropped : kept) += y == 0 || y == 4;
  BOOST_TEST(dropped + kept == 64 * 256);
  // Five standard deviations of the binomial distribution.
  BOOST_TEST(std::fabs(dropped - 0.25 * 64 * 256) < 5 * std::sqrt(0.25 * 0.75 * 64 * 256));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::layers_test
