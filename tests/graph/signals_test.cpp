// Tests convolutions and pooling of signals (N, C, L) against naive loops in double.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "graph/error.h"
#include "graph/interpreter.h"
#include "graph/layers.h"

namespace kb::signals_test {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-12);

struct Shape {
  int64_t n, c, l;
};
constexpr Shape kShape{2, 4, 13};

double at(const Array& x, int64_t n, int64_t c, int64_t l) {
  return x.data[static_cast<size_t>((n * x.type.shape[1] + c) * x.type.shape[2] + l)];
}

// Returns a convolution by its definition, with stride s, padding p and dilation d:
// y[n, o, l] = bias[o] + sum over i, k of w[o, i, k] x[n, i', s l - p + d k], where i' is channel i of the group of o.
std::vector<double> naive_convolution(const Array& x, const Array& w, const Array& bias, const ConvOptions& o) {
  const int64_t channels = w.type.shape[0], inputs = w.type.shape[1];
  const int64_t length = (kShape.l + 2 * o.padding - o.dilation * (o.kernel - 1) - 1) / o.stride + 1;
  std::vector<double> y;
  for (int64_t n = 0; n < kShape.n; ++n)
    for (int64_t out = 0; out < channels; ++out)
      for (int64_t l = 0; l < length; ++l) {
        double sum = bias.data[static_cast<size_t>(out)];
        for (int64_t i = 0; i < inputs; ++i)
          for (int64_t k = 0; k < o.kernel; ++k) {
            const int64_t from = l * o.stride - o.padding + k * o.dilation;
            if (from < 0 || from >= kShape.l) continue;
            sum += at(w, out, i, k) * at(x, n, out / (channels / o.groups) * inputs + i, from);
          }
        y.push_back(sum);
      }
  return y;
}

std::vector<double> naive_pool(const Array& x, const PoolOptions& o, bool max) {
  const int64_t stride = o.stride == 0 ? o.kernel : o.stride;
  const int64_t length = (kShape.l + 2 * o.padding - o.kernel) / stride + 1;
  std::vector<double> y;
  for (int64_t n = 0; n < kShape.n; ++n)
    for (int64_t c = 0; c < kShape.c; ++c)
      for (int64_t l = 0; l < length; ++l) {
        double result = max ? -std::numeric_limits<double>::infinity() : 0;
        for (int64_t k = 0; k < o.kernel; ++k) {
          const int64_t from = l * stride - o.padding + k;
          if (from < 0 || from >= kShape.l) continue;
          const double value = at(x, n, c, from);
          result = max ? std::max(result, value) : result + value / static_cast<double>(o.kernel);
        }
        y.push_back(result);
      }
  return y;
}

Tensor signal(Graph& graph) { return input(graph, "x", DType::f64, {kShape.n, kShape.c, kShape.l}, "NCL"); }

Array value_of(const Graph& graph, const Bindings& bindings, Tensor y) {
  const Value value = y.value();
  return interpret_values(graph, bindings, {&value, 1}).at(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signals)

BOOST_AUTO_TEST_CASE(a_convolution_is_its_definition) {
  for (const ConvOptions& options :
       {ConvOptions{.kernel = 3, .bias = true}, ConvOptions{.kernel = 5, .stride = 2, .padding = 2, .bias = true},
        ConvOptions{.kernel = 3, .padding = 3, .dilation = 3, .groups = 2, .bias = true},
        ConvOptions{.kernel = 1, .stride = 3, .groups = 4, .bias = true}}) {
    Graph graph;
    const Tensor y = conv1d("conv", signal(graph), 8, options);
    const Bindings bindings = random_bindings(graph, 3);
    const std::vector<double> expected =
        naive_convolution(bindings.at("x"), bindings.at("conv.weight"), bindings.at("conv.bias"), options);
    const Array got = value_of(graph, bindings, y);
    BOOST_TEST(got.type.shape == (Dims{kShape.n, 8, static_cast<int64_t>(expected.size()) / (kShape.n * 8)}),
               boost::test_tools::per_element());
    BOOST_REQUIRE(got.data.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(got.data[i] == expected[i], kClose);
  }
}

BOOST_AUTO_TEST_CASE(pooling_is_its_definition) {
  for (const PoolOptions& options : {PoolOptions{.kernel = 2}, PoolOptions{.kernel = 3, .stride = 2, .padding = 1},
                                     PoolOptions{.kernel = 5, .stride = 1, .padding = 2}}) {
    Graph graph;
    const Tensor x = signal(graph), max = max_pool1d(x, options), average = avg_pool1d(x, options);
    const Bindings bindings = random_bindings(graph, 5);
    for (const bool greatest : {true, false}) {
      const std::vector<double> expected = naive_pool(bindings.at("x"), options, greatest);
      const Array got = value_of(graph, bindings, greatest ? max : average);
      BOOST_REQUIRE(got.data.size() == expected.size());
      for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(got.data[i] == expected[i], kClose);
    }
  }
}

// The weight has PyTorch's order of axes: output channels, input channels of a group, length.
BOOST_AUTO_TEST_CASE(shapes_of_parameters_and_results) {
  Graph graph;
  const Tensor y = conv1d("conv", signal(graph), 6, {.kernel = 5, .groups = 2, .bias = true});
  BOOST_TEST(to_string(graph.find_variable("conv.weight")->type) == "f64[O=6,I=2,L=5]");
  BOOST_TEST(to_string(y.type()) == "f64[N=2,C=6,L=9]");
  BOOST_TEST(to_string(batch_norm("bn", y).type()) == "f64[N=2,C=6,L=9]");
  BOOST_TEST(to_string(global_avg_pool(y).type()) == "f64[N=2,C=6]");
  BOOST_CHECK_THROW(conv1d("flat", global_avg_pool(y), 6, {}), Error);
  BOOST_CHECK_THROW(max_pool1d(global_avg_pool(y), {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::signals_test
