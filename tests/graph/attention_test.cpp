// Tests attention against plain loops in double.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

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

// Returns what is added to a score: minus infinity where the key is not seen.
using Bias = std::function<double(int64_t sample, int64_t head, int64_t query, int64_t key)>;

Bias causal_bias(bool causal) {
  return [=](int64_t, int64_t, int64_t t, int64_t key) { return causal && key > t ? -HUGE_VAL : 0.0; };
}

// Returns attention by the formula, one output after another; 0 where no key is seen.
Reals plain_attention(const Sizes& s, const Reals& q, const Reals& k, const Reals& v, const Bias& bias, double scale) {
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
        for (int64_t key = 0; key < s.keys; ++key) {
          double score = 0;
          for (int64_t i = 0; i < s.d; ++i)
            score += at(q, n, s.queries, t, h, s.d, i) * at(k, n, s.keys, key, h, s.d, i);
          weights.push_back(std::exp(score * scale + bias(n, h, t, key)));
          sum += weights.back();
        }
        for (int64_t i = 0; i < s.e; ++i) {
          double value = 0;
          for (size_t key = 0; key < weights.size(); ++key)
            value += sum == 0 ? 0 : weights[key] / sum * at(v, n, s.keys, static_cast<int64_t>(key), h, s.e, i);
          result.push_back(value);
        }
      }
  return result;
}

// q, k and v of a case, as constants of a graph and as numbers.
struct Inputs {
  Graph graph;
  Reals numbers_of_q, numbers_of_k, numbers_of_v;
  Tensor q, k, v;
  explicit Inputs(const Sizes& s) {
    const auto make = [&](Reals& data, int64_t rows, int64_t features, double from) {
      const Dims shape{s.samples, rows, s.heads * features};
      data = numbers(element_count(shape), from);
      return constant(graph, f64, shape, data);
    };
    q = make(numbers_of_q, s.queries, s.d, 1);
    k = make(numbers_of_k, s.keys, s.d, 2);
    v = make(numbers_of_v, s.keys, s.e, 3);
  }
  Reals value(Tensor tensor) const {
    const Value value = tensor.value();
    return interpret_values(graph, {}, {&value, 1}).front().data;
  }
};

void check_close(const Reals& got, const Reals& expected) {
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::fabs(got[i] - expected[i]) <= 1e-13, i << ": " << got[i] << ", not " << expected[i]);
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
      for (const std::optional<double> scale : {std::optional<double>(), {0.3}}) {
        Inputs in(s);
        const Tensor result = kb::attention(in.q, in.k, in.v, {.heads = s.heads, .causal = causal, .scale = scale});
        BOOST_REQUIRE((result.shape() == Dims{s.samples, s.queries, s.heads * s.e}));
        check_close(in.value(result),
                    plain_attention(s, in.numbers_of_q, in.numbers_of_k, in.numbers_of_v, causal_bias(causal),
                                    scale.value_or(1 / std::sqrt(static_cast<double>(s.d)))));
      }
    }
}

// Lengths of 0 and above S too, a mask of each rank with minus infinity in it, alone and together.
BOOST_AUTO_TEST_CASE(keys_are_seen_by_lengths_and_masks) {
  for (const Sizes& s : {Sizes{3, 2, 4, 2, 3, 2}, {3, 4, 4, 2, 1, 3}})
    for (const Dims& shape : {Dims{},
                              {s.queries, s.keys},
                              {s.samples, s.queries, s.keys},
                              {1, 1, s.keys},
                              {s.samples, s.heads, s.queries, s.keys},
                              {1, s.heads, 1, s.keys}})
      for (const bool causal : {false, true})
        for (const bool with_lengths : {false, true}) {
          if (causal && s.queries != s.keys) continue;
          Inputs in(s);
          AttentionOptions options{.heads = s.heads, .causal = causal, .scale = 0.5};
          const Reals lengths = {2, 0, 7};
          if (with_lengths) options.lengths = constant(in.graph, DType::i32, {3}, lengths);
          Reals mask = numbers(element_count(shape), 4);
          for (size_t i = 0; i < mask.size(); i += 3) mask[i] = -HUGE_VAL;
          if (!shape.empty()) options.mask = constant(in.graph, f64, shape, mask);
          Dims of_mask = shape;
          if (of_mask.size() == 2) of_mask.insert(of_mask.begin(), 1);
          if (of_mask.size() == 3) of_mask.insert(of_mask.begin() + 1, 1);
          const Bias bias = [&](int64_t n, int64_t h, int64_t t, int64_t key) {
            if (with_lengths && static_cast<double>(key) >= lengths[static_cast<size_t>(n)]) return -HUGE_VAL;
            if (shape.empty()) return causal_bias(causal)(n, h, t, key);
            int64_t at = 0;
            const Dims index{n, h, t, key};
            for (size_t i = 0; i < 4; ++i) at = at * of_mask[i] + (of_mask[i] == 1 ? 0 : index[i]);
            return mask[static_cast<size_t>(at)] + causal_bias(causal)(n, h, t, key);
          };
          check_close(in.value(kb::attention(in.q, in.k, in.v, options)),
                      plain_attention(s, in.numbers_of_q, in.numbers_of_k, in.numbers_of_v, bias, 0.5));
        }
}

BOOST_AUTO_TEST_CASE(dropout_takes_whole_weights_out) {
  const Sizes s{2, 3, 8, 2, 2, 8};
  Inputs in(s);
  // v is the unit matrix in each head: the result is the weights themselves.
  Reals unit;
  for (int64_t i = 0; i < s.samples * s.keys; ++i)
    for (int64_t j = 0; j < s.heads * s.e; ++j) unit.push_back(i % s.keys == j % s.e);
  const Tensor v = constant(in.graph, f64, {s.samples, s.keys, s.heads * s.e}, unit);
  const size_t before = in.graph.nodes.size();
  const Tensor whole = kb::attention(in.q, in.k, v, {.heads = 2});
  const size_t nodes = in.graph.nodes.size() - before;
  const Tensor some = kb::attention(in.q, in.k, v, {.heads = 2, .dropout = 0.25, .dropout_name = "attn_dropout"});
  BOOST_TEST(in.graph.has_random_stream("attn_dropout"));
  BOOST_TEST(in.graph.nodes.size() - before > 2 * nodes);
  const Value values[] = {whole.value(), some.value()};
  Bindings bindings = random_bindings(in.graph, 3);
  const std::vector<Array> got = interpret_values(in.graph, bindings, values);
  int64_t zeros = 0;
  for (size_t i = 0; i < got[0].data.size(); ++i) {
    zeros += got[1].data[i] == 0;
    if (got[1].data[i] != 0) BOOST_TEST(std::fabs(got[1].data[i] - got[0].data[i] / 0.75) < 1e-13);
  }
  BOOST_TEST(zeros > 8);
  BOOST_TEST(zeros < 48);
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
  refused(q, k, tensor(graph, 3, 5, 6), {}, "k and v do not fit");
  refused(q, k, v, {.causal = true}, "as many positions of q as of k");
  refused(q, k, v, {.heads = 4}, "a divisor of 6");
  refused(q, k, v, {.heads = 0}, "0 heads");
  refused(q, k, v, {.heads = 2, .scale = HUGE_VAL}, "scale out of range");
  refused(flatten(q), k, v, {}, "q [N, T, features]");
  const auto input_of = [&](DType dtype, const Dims& shape) {
    return input(graph, "m" + std::to_string(graph.nodes.size()), dtype, shape);
  };
  refused(q, k, v, {.lengths = input_of(DType::i32, {3})}, "i32 [N=2]: a number of keys a sample");
  refused(q, k, v, {.lengths = input_of(DType::f32, {2})}, "lengths do not fit");
  refused(q, k, v, {.heads = 2, .mask = input_of(DType::f32, {5})}, "the mask does not fit the scores [2, 2, 3, 5]");
  refused(q, k, v, {.heads = 2, .mask = input_of(DType::f32, {4, 3, 5})}, "[N, T, S] or [N, heads, T, S]");
  refused(q, k, v, {.heads = 2, .mask = input_of(DType::f32, {2, 2, 3, 4})}, "the mask does not fit");
  refused(q, k, v, {.mask = input_of(DType::boolean, {3, 5})}, "select(mask, 0.0, -HUGE_VAL)");
  refused(q, k, v, {.mask = input_of(f64, {3, 5})}, "numbers of q's dtype, f32");
  BOOST_CHECK_EXCEPTION(kb::attention(q, k, v, {.dropout = 1}), Error, test::says("p out of range"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::attention_test
