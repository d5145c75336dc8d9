// Tests attention against plain loops in double.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/support/says.h"

namespace kb::attention_test {
namespace {

using Reals = std::vector<double>;
constexpr DType f64 = DType::f64;

struct Sizes {
  int64_t samples, queries, keys, heads, d, e;  // d features of a head in q and k, e in v
};

Reals numbers(int64_t count, double from) {
  Reals result;
  for (int64_t i = 0; i < count; ++i) result.push_back(std::sin(from + static_cast<double>(i * i)) * 2);
  return result;
}

// Returns attention by the formula, one output after another.
Reals plain_attention(const Sizes& s, const Reals& q, const Reals& k, const Reals& v, bool causal, double scale) {
  const auto at = [&](const Reals& x, int64_t sample, int64_t rows, int64_t row, int64_t head, int64_t size,
                      int64_t i) {
    return x[static_cast<size_t>(((sample * rows + row) * s.heads + head) * size + i)];
  };
  Reals result;
  for (int64_t n = 0; n < s.samples; ++n)
    for (int64_t t = 0; t < s.queries; ++t)
      for (int64_t h = 0; h < s.heads; ++h) {
        Reals weights;
        double sum = 0;
        for (int64_t key = 0; key < (causal ? t + 1 : s.keys); ++key) {
          double score = 0;
          for (int64_t i = 0; i < s.d; ++i)
            score += at(q, n, s.queries, t, h, s.d, i) * at(k, n, s.keys, key, h, s.d, i);
          weights.push_back(std::exp(score * scale));
          sum += weights.back();
        }
        for (int64_t i = 0; i < s.e; ++i) {
          double value = 0;
          for (size_t key = 0; key < weights.size(); ++key)
            value += weights[key] / sum * at(v, n, s.keys, static_cast<int64_t>(key), h, s.e, i);
          result.push_back(value);
        }
      }
  return result;
}

Tensor tensor(Graph& graph, int64_t samples, int64_t rows, int64_t features) {
  return input(graph, "x" + std::to_string(graph.nodes.size()), DType::f32, {samples, rows, features});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(attention_is_that_of_plain_loops) {
  for (const Sizes& s : {Sizes{2, 3, 5, 2, 4, 3}, {1, 4, 4, 1, 2, 2}, {3, 6, 6, 4, 1, 5}, {1, 1, 1, 1, 1, 1}})
    for (const bool causal : {false, true}) {
      if (causal && s.queries != s.keys) continue;
      const Dims of_q{s.samples, s.queries, s.heads * s.d}, of_k{s.samples, s.keys, s.heads * s.d},
          of_v{s.samples, s.keys, s.heads * s.e};
      const Reals q = numbers(element_count(of_q), 1), k = numbers(element_count(of_k), 2),
                  v = numbers(element_count(of_v), 3);
      for (const std::optional<double> scale : {std::optional<double>(), {0.3}}) {
        Graph graph;
        const Tensor result =
            kb::attention(constant(graph, f64, of_q, q), constant(graph, f64, of_k, k), constant(graph, f64, of_v, v),
                          {.heads = s.heads, .causal = causal, .scale = scale});
        BOOST_REQUIRE((result.shape() == Dims{s.samples, s.queries, s.heads * s.e}));
        const Value value = result.value();
        const Reals got = interpret_values(graph, {}, {&value, 1}).front().data;
        const Reals expected =
            plain_attention(s, q, k, v, causal, scale.value_or(1 / std::sqrt(static_cast<double>(s.d))));
        for (size_t i = 0; i < got.size(); ++i)
          BOOST_TEST(std::fabs(got[i] - expected[i]) <= 1e-13, i << ": " << got[i] << ", not " << expected[i]);
      }
    }
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_are_refused) {
  Graph graph;
  const auto refused = [&](Tensor q, Tensor k, Tensor v, const AttentionOptions& options, const char* text) {
    BOOST_CHECK_EXCEPTION(kb::attention(q, k, v, options), Error, test::says("attention: ", text));
  };
  const Tensor q = tensor(graph, 2, 3, 8), k = tensor(graph, 2, 5, 8), v = tensor(graph, 2, 5, 6);
  refused(q, tensor(graph, 2, 5, 4), v, {}, "q and k do not fit");
  refused(q, tensor(graph, 3, 5, 8), v, {}, "q and k do not fit");
  refused(q, k, tensor(graph, 2, 4, 6), {}, "k and v do not fit");
  refused(q, k, v, {.causal = true}, "as many positions of q as of k");
  refused(q, k, v, {.heads = 4}, "a divisor of 6");
  refused(q, k, v, {.heads = 0}, "0 heads");
  refused(q, k, v, {.heads = 2, .scale = HUGE_VAL}, "scale out of range");
  refused(flatten(q), k, v, {}, "q [N, T, features]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::attention_test
