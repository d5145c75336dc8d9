// Tests initialisers: PyTorch's defaults, the distribution of each, and which layer takes them.
#include "graph/initialiser.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/text.h"

namespace kb::initialiser_test {
namespace {

constexpr DType f32 = DType::f32, f64 = DType::f64;

struct Spread {
  double mean = 0, std = 0, least = 0, greatest = 0;
};

Spread spread(const Graph& graph, const std::string& name) {
  const Array array = initial_value(*graph.find_variable(name), 7);
  Spread result{0, 0, array.data.at(0), array.data.at(0)};
  for (const double v : array.data) {
    result.mean += v / static_cast<double>(array.data.size());
    result.least = std::min(result.least, v);
    result.greatest = std::max(result.greatest, v);
  }
  for (const double v : array.data)
    result.std += (v - result.mean) * (v - result.mean) / static_cast<double>(array.data.size());
  result.std = std::sqrt(result.std);
  return result;
}

bool near(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::fabs(b); }

}  // namespace

BOOST_AUTO_TEST_SUITE(initialisers)

BOOST_AUTO_TEST_CASE(initial_values) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 64, 8, 8}, "NCHW");
  conv2d("he", x, 128, {.kernel = 3});
  conv2d("torch", x, 128, {.kernel = 3, .bias = true});
  linear("fc", flatten(x), 64);
  linear("last", flatten(x), 64, {.init = normal(0.01)});
  batch_norm("bn", x, {.init = zeros});
  embedding("tokens", input(graph, "ids", DType::i32, {2}), 1000, 16);
  // The standard deviation is sqrt(2 / fan_out): He et al. 2015, equation 14.
  BOOST_TEST(near(spread(graph, "he.weight").std, std::sqrt(2.0 / (128 * 9)), 0.01));
  const double conv_bound = 1 / std::sqrt(64.0 * 9), fc_bound = 1 / std::sqrt(64.0 * 64);
  BOOST_TEST(near(spread(graph, "torch.weight").greatest, conv_bound, 0.01));
  BOOST_TEST(near(spread(graph, "torch.weight").least, -conv_bound, 0.01));
  BOOST_TEST(spread(graph, "torch.bias").greatest <= conv_bound);
  BOOST_TEST(near(spread(graph, "fc.weight").std, fc_bound / std::sqrt(3.0), 0.01));
  BOOST_TEST(spread(graph, "fc.bias").std > 0);
  BOOST_TEST(near(spread(graph, "last.weight").std, 0.01, 0.01));
  BOOST_TEST(spread(graph, "last.bias").std == 0);
  BOOST_TEST(spread(graph, "bn.weight").mean == 0);
  BOOST_TEST(near(spread(graph, "bn.running_var").mean, 1, 1e-12));
  BOOST_TEST(near(spread(graph, "tokens.weight").std, 1, 0.02));
}

// Every initialiser draws a weight of 40,000 elements, whose mean lies within five of the mean's standard deviations
// and whose standard deviation is within two percent of the rule's.
BOOST_AUTO_TEST_CASE(every_initialiser_has_its_distribution) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 100}, "NC");
  const auto drawn = [&](const char* name, Initialiser init) {
    linear(name, x, 400, {.init = init});
    const Spread spread = initialiser_test::spread(graph, std::string(name) + ".weight");
    BOOST_TEST(std::fabs(spread.mean) <= 5 * spread.std / std::sqrt(40000.0), name);
    return spread;
  };
  BOOST_TEST(near(drawn("in", he_normal(fan_in)).std, std::sqrt(2.0 / 100), 0.02));
  BOOST_TEST(near(drawn("out", he_normal(fan_out)).std, std::sqrt(2.0 / 400), 0.02));
  BOOST_TEST(near(drawn("normal", normal(0.25)).std, 0.25, 0.02));
  const Spread uniform = drawn("uniform", uniform_fan_in());
  BOOST_TEST(near(uniform.std, 0.1 / std::sqrt(3.0), 0.02));
  BOOST_TEST((uniform.least >= -0.1 && uniform.greatest <= 0.1 && near(uniform.greatest, 0.1, 0.001)));
  const Spread glorot = drawn("glorot", glorot_uniform());
  BOOST_TEST(near(glorot.std, std::sqrt(2.0 / 500), 0.02));
  BOOST_TEST((glorot.least >= -std::sqrt(6.0 / 500) && near(glorot.greatest, std::sqrt(6.0 / 500), 0.001)));
  const Spread none = drawn("zeros", zeros);
  BOOST_TEST((none.least == 0 && none.greatest == 0));
  linear("ones", x, 400, {.init = ones});
  const Spread all = spread(graph, "ones.weight");
  BOOST_TEST((all.least == 1 && all.greatest == 1));
  // One of 40,000 normal numbers is expected beyond 4 standard deviations; a uniform one of that spread ends at 1.7.
  BOOST_TEST(spread(graph, "normal.weight").greatest > 3 * 0.25);
}

// The variance of a normal variable within two standard deviations is 1 - 4 phi(2) / (2 Phi(2) - 1).
BOOST_AUTO_TEST_CASE(a_truncated_normal_ends_at_two_deviations) {
  Graph graph;
  linear("fc", input(graph, "x", f32, {2, 100}, "NC"), 400, {.init = truncated_normal(0.5)});
  const Spread all = spread(graph, "fc.weight");
  const double phi = std::exp(-2.0) / std::sqrt(2 * M_PI), inside = std::erf(std::sqrt(2.0));
  BOOST_TEST(near(all.std, 0.5 * std::sqrt(1 - 4 * phi / inside), 0.01));
  BOOST_TEST(std::fabs(all.mean) <= 5 * all.std / std::sqrt(40000.0));
  BOOST_TEST((all.least >= -1 && all.greatest <= 1 && near(all.greatest, 1, 0.01)));
}

BOOST_AUTO_TEST_CASE(an_orthogonal_matrix_has_orthonormal_rows_or_columns) {
  Graph graph;
  const Tensor x = input(graph, "x", f64, {2, 12, 5, 5}, "NCHW");
  conv2d("wide", x, 7, {.kernel = 3, .init = orthogonal(2)});
  linear("tall", input(graph, "y", f64, {2, 6}, "NC"), 20, {.init = orthogonal()});
  const auto check = [&](const char* name, int64_t count, int64_t length, int64_t next, int64_t step, double square) {
    const std::vector<double> w = initial_value(*graph.find_variable(name), 7).data;
    for (int64_t a = 0; a < count; ++a)
      for (int64_t b = 0; b < count; ++b) {
        double sum = 0;
        for (int64_t i = 0; i < length; ++i)
          sum += w[static_cast<size_t>(a * next + i * step)] * w[static_cast<size_t>(b * next + i * step)];
        BOOST_TEST(std::fabs(sum - (a == b ? square : 0)) < 1e-13, name);
      }
  };
  check("wide.weight", 7, 108, 108, 1, 4);
  check("tall.weight", 6, 20, 1, 6, 1);
  BOOST_CHECK_THROW(batch_norm("bn", x, {.init = orthogonal()}), Error);
  BOOST_CHECK_THROW(linear("zero", input(graph, "z", f64, {2, 6}, "NC"), 20, {.init = orthogonal(0)}), Error);
}

BOOST_AUTO_TEST_CASE(every_layer_takes_an_initialiser_and_counts_its_own_fans) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 64, 8, 8}, "NCHW");
  Tensor ids = input(graph, "ids", DType::i32, {2}, "N");
  conv2d("conv", x, 128, {.kernel = 3, .groups = 4, .init = he_normal(fan_in)});
  conv2d("grouped", x, 128, {.kernel = 3, .groups = 4, .init = he_normal(fan_out)});
  linear("fc", flatten(x), 10, {.init = he_normal(fan_out)});
  batch_norm("bn", x, {.init = normal(0.5)});
  layer_norm("ln", flatten(x), {.init = zeros});
  embedding("tokens", ids, 50, 200, {.init = uniform_fan_in()});
  embedding("rows", ids, 50, 200, {.init = he_normal(fan_out)});
  const auto init = [&](const char* name) { return graph.find_variable(name)->init; };
  BOOST_TEST((init("conv.weight") == Init{InitKind::normal, 0, std::sqrt(2.0 / (16 * 9))}));
  BOOST_TEST((init("grouped.weight") == Init{InitKind::normal, 0, std::sqrt(2.0 / (32 * 9))}));
  BOOST_TEST((init("fc.weight") == Init{InitKind::normal, 0, std::sqrt(2.0 / 10)}));
  BOOST_TEST((init("bn.weight") == Init{InitKind::normal, 0, 0.5}));
  BOOST_TEST((init("ln.weight") == Init{InitKind::constant, 0, 0}));
  BOOST_TEST((init("tokens.weight") == Init{InitKind::uniform, -1 / std::sqrt(200.0), 1 / std::sqrt(200.0)}));
  BOOST_TEST((init("rows.weight") == Init{InitKind::normal, 0, std::sqrt(2.0 / 50)}));
  BOOST_TEST(init("rows.weight").rule == "he_normal(fan_out)");
}

BOOST_AUTO_TEST_CASE(with_an_initialiser_a_bias_is_zero) {
  Graph graph;
  Tensor x = input(graph, "x", f32, {2, 3, 8, 8}, "NCHW");
  conv2d("own_conv", x, 16, {.bias = true});
  conv2d("conv", x, 16, {.bias = true, .init = uniform_fan_in()});
  linear("own_fc", flatten(x), 16);
  linear("fc", flatten(x), 16, {.init = uniform_fan_in()});
  for (const char* name : {"own_conv.bias", "own_fc.bias"}) BOOST_TEST(spread(graph, name).std > 0, name);
  for (const char* name : {"conv.bias", "fc.bias"})
    BOOST_TEST((graph.find_variable(name)->init == Init{InitKind::constant, 0, 0}), name);
}

// Graphs are equal if their initialisers have equal numbers, however these are named.
BOOST_AUTO_TEST_CASE(the_name_of_an_initialiser_is_no_part_of_the_graph) {
  const auto declared = [](std::optional<Initialiser> init) {
    Graph graph;
    conv2d("conv", input(graph, "x", f32, {2, 3, 8, 8}, "NCHW"), 16, {.kernel = 5, .init = init});
    return graph;
  };
  const Graph own = declared({}), named = declared(he_normal(fan_out)),
              numbers = declared(normal(std::sqrt(2.0 / 400)));
  const auto rule = [](const Graph& graph) { return graph.find_variable("conv.weight")->init.rule; };
  BOOST_TEST(rule(own) == "he_normal(fan_out)");
  BOOST_TEST(rule(numbers) == "normal");
  for (const Graph* graph : {&named, &numbers}) {
    BOOST_TEST(to_text(*graph) == to_text(own));
    BOOST_TEST(content_hash(*graph) == content_hash(own));
  }
  BOOST_TEST(content_hash(declared(he_normal(fan_in))) != content_hash(own));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::initialiser_test
