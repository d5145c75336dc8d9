// Tests layers of transformers against plain loops in double, and their parameters against PyTorch's names and shapes.
#include "graph/transformer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "graph/interpreter.h"
#include "graph/scope.h"
#include "tests/support/says.h"

namespace kb::transformer_test {
namespace {

constexpr DType f64 = DType::f64;
constexpr int64_t kFeatures = 6, kHeads = 2, kHidden = 5;

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // of one sample, a row a position

Rows map(const Rows& x, const std::function<Row(const Row&)>& f) {
  Rows result;
  for (const Row& row : x) result.push_back(f(row));
  return result;
}

Rows sum(Rows x, const Rows& y) {
  for (size_t t = 0; t < x.size(); ++t)
    for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
  return x;
}

// A layer by its definition, with the parameters that `bindings` has under its name.
struct PlainLayer {
  const Bindings& bindings;
  std::string name;
  bool pre_norm = false;
  double (*activation)(double) = nullptr;

  const Row& data(const std::string& parameter) const { return bindings.at(name + "." + parameter).data; }

  // Applies `outputs` rows of a matrix and its bias, from row `first` on.
  Rows linear(const Rows& x, const std::string& weight, const std::string& bias, size_t first, size_t outputs) const {
    return map(x, [&](const Row& row) {
      Row y;
      for (size_t o = first; o < first + outputs; ++o) {
        y.push_back(data(bias)[o]);
        for (size_t i = 0; i < row.size(); ++i) y.back() += data(weight)[o * row.size() + i] * row[i];
      }
      return y;
    });
  }

  Rows norm(const Rows& x, const std::string& norm_name) const {
    return map(x, [&](const Row& row) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / kFeatures;
      for (const double v : row) variance += (v - mean) * (v - mean) / kFeatures;
      Row y;
      for (size_t i = 0; i < row.size(); ++i)
        y.push_back((row[i] - mean) / std::sqrt(variance + 1e-5) * data(norm_name + ".weight")[i] +
                    data(norm_name + ".bias")[i]);
      return y;
    });
  }

  // Each position of x sees the first `keys` rows of memory, and with `causal` none after its own.
  Rows attention(const std::string& part, const Rows& x, const Rows& memory, size_t keys, bool causal) const {
    const std::string weight = part + ".in_proj_weight", bias = part + ".in_proj_bias";
    constexpr size_t e = kFeatures, d = kFeatures / kHeads;
    const Rows q = linear(x, weight, bias, 0, e), k = linear(memory, weight, bias, e, e),
               v = linear(memory, weight, bias, 2 * e, e);
    Rows heads(x.size(), Row(e, 0));
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t h = 0; h < kHeads; ++h) {
        const size_t seen = causal ? std::min(keys, t + 1) : keys;
        Row weights(seen);
        double total = 0;
        for (size_t s = 0; s < seen; ++s) {
          for (size_t i = h * d; i < (h + 1) * d; ++i) weights[s] += q[t][i] * k[s][i] / std::sqrt(double{d});
          total += weights[s] = std::exp(weights[s]);
        }
        for (size_t s = 0; s < seen; ++s)
          for (size_t i = h * d; i < (h + 1) * d; ++i) heads[t][i] += weights[s] / total * v[s][i];
      }
    return linear(heads, part + ".out_proj.weight", part + ".out_proj.bias", 0, e);
  }

  Rows feed_forward(const Rows& x) const {
    Rows hidden = linear(x, "linear1.weight", "linear1.bias", 0, kHidden);
    for (Row& row : hidden)
      for (double& v : row) v = activation(v);
    return linear(hidden, "linear2.weight", "linear2.bias", 0, kFeatures);
  }

  Rows residual(const Rows& x, const std::string& number, const std::function<Rows(const Rows&)>& part) const {
    return pre_norm ? sum(x, part(norm(x, "norm" + number))) : norm(sum(x, part(x)), "norm" + number);
  }
};

// Returns the rows of sample n of x [N, T, features].
Rows sample(const Array& x, int64_t n) {
  Rows rows;
  for (int64_t t = 0; t < x.type.shape[1]; ++t) {
    const auto begin = x.data.begin() + (n * x.type.shape[1] + t) * x.type.shape[2];
    rows.emplace_back(begin, begin + x.type.shape[2]);
  }
  return rows;
}

void check_sample(const Array& got, int64_t n, const Rows& expected) {
  const Rows rows = sample(got, n);
  for (size_t t = 0; t < rows.size(); ++t)
    for (size_t i = 0; i < rows[t].size(); ++i)
      BOOST_TEST(std::fabs(rows[t][i] - expected[t][i]) < 1e-12, n << ", " << t << ", " << i << ": " << rows[t][i]);
}

double plain_relu(double x) { return std::max(x, 0.0); }
double plain_gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }

TransformerOptions small(bool pre_norm, bool is_gelu) {
  TransformerOptions options{.heads = kHeads, .hidden = kHidden, .pre_norm = pre_norm};
  if (is_gelu) options.activation = [](Tensor x) { return gelu(x); };
  return options;
}

std::vector<std::string> parameters(const Graph& graph) {
  std::vector<std::string> result;
  for (const Variable& variable : graph.variables) result.push_back(variable.name + " " + to_string(variable.type));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transformer)

BOOST_AUTO_TEST_CASE(an_encoder_layer_is_that_of_plain_loops) {
  for (const bool pre_norm : {false, true})
    for (const bool causal : {false, true}) {
      Graph graph("encoder", Mode::inference);
      const Tensor x = input(graph, "x", f64, {3, 4, kFeatures}), lengths = input(graph, "lengths", DType::i32, {3});
      const Value y =
          encoder_layer("layer", x, small(pre_norm, pre_norm), {.causal = causal, .lengths = lengths}).value();
      Bindings bindings = random_bindings(graph, 3);
      bindings.at("lengths").data = {2, 4, 1};
      const Array got = interpret_values(graph, bindings, std::span(&y, 1))[0];
      const PlainLayer layer{bindings, "layer", pre_norm, pre_norm ? plain_gelu : plain_relu};
      for (int64_t n = 0; n < 3; ++n) {
        const auto keys = static_cast<size_t>(bindings.at("lengths").data[static_cast<size_t>(n)]);
        const Rows seen = layer.residual(sample(bindings.at("x"), n), "1", [&](const Rows& rows) {
          return layer.attention("self_attn", rows, rows, keys, causal);
        });
        check_sample(got, n, layer.residual(seen, "2", [&](const Rows& rows) { return layer.feed_forward(rows); }));
      }
    }
}

BOOST_AUTO_TEST_CASE(a_decoder_layer_is_that_of_plain_loops) {
  for (const bool pre_norm : {false, true}) {
    Graph graph("decoder", Mode::inference);
    const Tensor x = input(graph, "x", f64, {2, 3, kFeatures}), memory = input(graph, "memory", f64, {2, 5, kFeatures}),
                 lengths = input(graph, "lengths", DType::i32, {2});
    const Value y =
        decoder_layer("layer", x, memory, small(pre_norm, false), {.causal = true}, {.lengths = lengths}).value();
    Bindings bindings = random_bindings(graph, 4);
    bindings.at("lengths").data = {5, 2};
    const Array got = interpret_values(graph, bindings, std::span(&y, 1))[0];
    const PlainLayer layer{bindings, "layer", pre_norm, plain_relu};
    for (int64_t n = 0; n < 2; ++n) {
      const Rows of_memory = sample(bindings.at("memory"), n);
      const auto keys = static_cast<size_t>(bindings.at("lengths").data[static_cast<size_t>(n)]);
      Rows rows = layer.residual(sample(bindings.at("x"), n), "1", [&](const Rows& own) {
        return layer.attention("self_attn", own, own, own.size(), true);
      });
      rows = layer.residual(
          rows, "2", [&](const Rows& own) { return layer.attention("multihead_attn", own, of_memory, keys, false); });
      check_sample(got, n, layer.residual(rows, "3", [&](const Rows& own) { return layer.feed_forward(own); }));
    }
  }
}

BOOST_AUTO_TEST_CASE(parameters_are_pytorchs) {
  Graph graph;
  const Tensor x = input(graph, "x", DType::f32, {2, 3, 16});
  decoder_layer("layers.0", x, x + 1.0, {.heads = 4, .hidden = 32});
  const std::vector<std::string> expected = {"layers.0.self_attn.in_proj_weight f32[O=48,I=16]",
                                             "layers.0.self_attn.in_proj_bias f32[C=48]",
                                             "layers.0.self_attn.out_proj.weight f32[O=16,I=16]",
                                             "layers.0.self_attn.out_proj.bias f32[C=16]",
                                             "layers.0.norm1.weight f32[16]",
                                             "layers.0.norm1.bias f32[16]",
                                             "layers.0.multihead_attn.in_proj_weight f32[O=48,I=16]",
                                             "layers.0.multihead_attn.in_proj_bias f32[C=48]",
                                             "layers.0.multihead_attn.out_proj.weight f32[O=16,I=16]",
                                             "layers.0.multihead_attn.out_proj.bias f32[C=16]",
                                             "layers.0.norm2.weight f32[16]",
                                             "layers.0.norm2.bias f32[16]",
                                             "layers.0.linear1.weight f32[O=32,I=16]",
                                             "layers.0.linear1.bias f32[C=32]",
                                             "layers.0.linear2.weight f32[O=16,I=32]",
                                             "layers.0.linear2.bias f32[C=16]",
                                             "layers.0.norm3.weight f32[16]",
                                             "layers.0.norm3.bias f32[16]"};
  BOOST_TEST(parameters(graph) == expected);
  const Init& in = graph.find_variable("layers.0.self_attn.in_proj_weight")->init;
  BOOST_TEST(in.b == std::sqrt(6.0 / (16 + 48)));
  BOOST_TEST(in.rule == "glorot_uniform");
  for (const char* zero : {"self_attn.in_proj_bias", "self_attn.out_proj.bias"})
    BOOST_TEST((graph.find_variable(std::string("layers.0.") + zero)->init == Init{InitKind::constant, 0, 0}));
  for (const char* stream :
       {"self_attn.dropout", "multihead_attn.dropout", "dropout", "dropout1", "dropout2", "dropout3"})
    BOOST_TEST(graph.has_random_stream(std::string("layers.0.") + stream), stream);
}

// A decoder that runs a position at a time keeps k and v of the memory and projects q alone.
BOOST_AUTO_TEST_CASE(projections_can_be_taken_apart) {
  Graph graph("parts", Mode::inference);
  const Tensor x = input(graph, "x", f64, {2, 3, kFeatures});
  const InProjection in = in_projection(x);
  const std::vector<Tensor> all = project(in, x, 0, 3), keys = project(in, x, 1, 2);
  const std::vector<Value> values = {all[0].value(), project(in, x, 0, 1)[0].value(),
                                     all[1].value(), keys[0].value(),
                                     all[2].value(), keys[1].value()};
  const std::vector<Array> got = interpret_values(graph, random_bindings(graph, 2), values);
  for (size_t i = 0; i < 6; i += 2) BOOST_TEST(got[i].data == got[i + 1].data);
  for (const auto& [first, count] : {std::pair(-1, 1), {1, 0}, {2, 2}})
    BOOST_CHECK_EXCEPTION(project(in, x, first, count), Error, test::says("project: no such projections"));
}

BOOST_AUTO_TEST_CASE(sinusoids_of_positions) {
  for (const int64_t features : {6, 5}) {
    Graph graph;
    const Value y = sinusoidal_positions(graph, 40, features, f64).value();
    const Array got = interpret_values(graph, {}, std::span(&y, 1))[0];
    BOOST_REQUIRE((got.type.shape == Dims{40, features}));
    for (int64_t p = 0; p < 40; ++p)
      for (int64_t i = 0; i < features; ++i) {
        const double angle =
            static_cast<double>(p) / std::pow(10000.0, static_cast<double>(i / 2 * 2) / static_cast<double>(features));
        const double expected = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
        BOOST_TEST(std::fabs(got.data[static_cast<size_t>(p * features + i)] - expected) < 1e-13);
      }
  }
}

// Each pair (a, b) becomes (a cos u - b sin u, a sin u + b cos u) with u = p base^(-2i / d) at position p.
BOOST_AUTO_TEST_CASE(rotary_turns_pairs) {
  constexpr int64_t n = 2, t = 3, pairs = 2, d = 2 * pairs;
  constexpr double kBase = 100;
  Array x{{f64, {n, t, kHeads * d}, ""}, {}};
  for (int64_t i = 0; i < x.type.elements(); ++i) x.data.push_back(std::sin(1.7 * static_cast<double>(i)));
  const Array places = {{DType::i32, {n, t}, ""}, {0, 1, 2, 7, 5, 30}};
  for (const bool adjacent : {false, true})
    for (const bool given : {false, true}) {
      Graph graph;
      RotaryOptions options{.heads = kHeads, .base = kBase, .adjacent = adjacent};
      if (given) options.positions = input(graph, "places", DType::i32, {n, t});
      const Value y = rotary(input(graph, "x", f64, x.type.shape), options).value();
      const Array got = interpret_values(graph, {{"x", x}, {"places", places}}, std::span(&y, 1))[0];
      for (int64_t head = 0; head < n * t * kHeads; ++head)
        for (int64_t i = 0; i < pairs; ++i) {
          const int64_t row = head / kHeads;
          const double place = given ? places.data[static_cast<size_t>(row)] : static_cast<double>(row % t);
          const double u = place * std::pow(kBase, -2.0 * static_cast<double>(i) / d);
          const auto first = static_cast<size_t>(head * d + (adjacent ? 2 * i : i)),
                     second = first + (adjacent ? 1 : pairs);
          const double a = x.data[first], b = x.data[second];
          BOOST_TEST(std::fabs(got.data[first] - (a * std::cos(u) - b * std::sin(u))) < 1e-13);
          BOOST_TEST(std::fabs(got.data[second] - (a * std::sin(u) + b * std::cos(u))) < 1e-13);
        }
    }
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_are_refused) {
  Graph graph;
  const Tensor x = input(graph, "x", DType::f32, {2, 3, 16}), other = input(graph, "other", DType::f32, {2, 3, 8});
  const auto refused = [](const std::function<void()>& call, const char* op, const char* text) {
    BOOST_CHECK_EXCEPTION(call(), Error, test::says(op, text));
  };
  refused([&] { multi_head_attention("a", x, other); }, "multi_head_attention: ", "kv [N=2, S, 16]");
  refused([&] { decoder_layer("b", x, other); }, "decoder_layer: ", "linear(name, kv, 16) before it");
  refused([&] { encoder_layer("c", flatten(x)); }, "encoder_layer: ", "x [N, T, features]");
  refused([&] { encoder_layer("d", x, {.heads = 3}); }, "attention: ", "3 heads");
  refused([&] { encoder_layer("e", x, {.hidden = 0}); }, "linear: ", "features out of range");
  refused([&] { project(in_projection(x), x, 2, 2); }, "project: ", "first 2, count 2");
  refused([&] { rotary(x, {.heads = 16}); }, "rotary: ", "an even number of features for each of 16 heads");
  refused([&] { rotary(x, {.base = 0}); }, "rotary: ", "base out of range");
  refused([&] { rotary(x, {.positions = iota(graph, DType::i32, 4)}); }, "rotary: ", "i32 [T=3] or [N, T]");
  refused([&] { sinusoidal_positions(graph, 0, 4); }, "sinusoidal_positions: ", "count out of range");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::transformer_test
