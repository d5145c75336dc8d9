// Tests the op flash_attention and its gradient against the composite attention(), which other tests compare with plain
// loops.
#include "graph/flash_attention.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/functions.h"
#include "tests/graph/interpreted.h"
#include "tests/support/says.h"

namespace kb::flash_attention_test {
namespace {

using interpreter_test::array;
using interpreter_test::Case;
using interpreter_test::Reals;
using interpreter_test::wave;

constexpr int64_t kSamples = 3, kHeads = 2, kQueries = 4, kFeatures = 3, kOutputs = 2;

struct Sizes {
  int64_t keys;
  bool causal, lengths;
};

// Inputs a, b, c are q, k and v; d and e are the lengths of queries and keys, with one sample that sees no key.
Case case_of(const Sizes& s) {
  const auto lengths = [](Reals data) { return array({kSamples}, std::move(data), DType::i32); };
  return Case({wave({kSamples, kQueries, kHeads * kFeatures}), wave({kSamples, s.keys, kHeads * kFeatures}),
               wave({kSamples, s.keys, kHeads * kOutputs}), lengths({kQueries, kQueries, kQueries}),
               lengths({2, 0, 9})});
}

std::vector<Value> operands(const Case& c, bool lengths) {
  std::vector<Value> in = {c.x[0].value(), c.x[1].value(), c.x[2].value()};
  if (lengths) in.insert(in.end(), {c.x[3].value(), c.x[4].value()});
  return in;
}

Attrs attrs(bool causal) { return {{"heads", kHeads}, {"causal", int64_t{causal}}, {"scale", 0.7}}; }

Tensor composite(const Case& c, const Sizes& s) {
  AttentionOptions options{.heads = kHeads, .causal = s.causal, .scale = 0.7};
  if (s.lengths) options.lengths = c.x[4];
  return attention(c.x[0], c.x[1], c.x[2], options);
}

void check_close(const Array& got, const Array& expected) {
  BOOST_REQUIRE((got.type.shape == expected.type.shape));
  for (size_t i = 0; i < got.data.size(); ++i)
    BOOST_TEST(std::fabs(got.data[i] - expected.data[i]) <= 1e-13,
               i << ": " << got.data[i] << ", not " << expected.data[i]);
}

constexpr Sizes kSizes[] = {{5, false, false}, {5, false, true}, {4, true, false}, {4, true, true}};

}  // namespace

BOOST_AUTO_TEST_SUITE(flash_attention_op)

BOOST_AUTO_TEST_CASE(its_result_is_that_of_the_composite) {
  for (const Sizes& s : kSizes) {
    Case c = case_of(s);
    const Tensor o(c.graph, c.graph.add(Op::flash_attention, operands(c, s.lengths), attrs(s.causal)));
    check_close(c.value(o), c.value(composite(c, s)));
  }
}

// The second sample sees nothing: its log-sum-exp is 0. In the first row of a causal attention one key is seen, and the
// log-sum-exp is its score.
BOOST_AUTO_TEST_CASE(the_log_sum_exp_is_that_of_the_scores) {
  Case c = case_of({4, true, true});
  const Value op = c.graph.add(Op::flash_attention, operands(c, true), attrs(true));
  const Array sums = c.value({c.graph, {op.node, 1}});
  BOOST_REQUIRE((sums.type.shape == Dims{kSamples, kHeads, kQueries}));
  const Reals &q = c.bindings.at("a").data, &k = c.bindings.at("b").data;
  double score = 0;
  for (size_t i = 0; i < kFeatures; ++i) score += 0.7 * q[i] * k[i];
  BOOST_TEST(std::fabs(sums.data[0] - score) <= 1e-13);
  for (int64_t i = 0; i < kHeads * kQueries; ++i)
    BOOST_TEST(sums.data[static_cast<size_t>(kHeads * kQueries + i)] == 0.0);
}

BOOST_AUTO_TEST_CASE(queries_beyond_their_length_see_nothing) {
  Case c = case_of({5, false, true});
  c.bindings["d"].data = {1, 4, 0};
  c.bindings["e"].data = {5, 5, 5};
  const Tensor o(c.graph, c.graph.add(Op::flash_attention, operands(c, true), attrs(false)));
  const Reals values = c.value(o).data;
  const size_t row = kHeads * kOutputs, sample = kQueries * row;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t n = i / sample, t = i % sample / row;
    BOOST_TEST((values[i] == 0.0) == (n == 2 || (n == 0 && t >= 1)), i);
  }
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_refused) {
  Case c = case_of({5, false, true});
  const auto add = [&](std::vector<Value> in, const Attrs& attrs) { c.graph.add(Op::flash_attention, in, attrs); };
  std::vector<Value> in = operands(c, true);
  BOOST_CHECK_EXCEPTION(add({in[0], in[1], in[2], in[3]}, attrs(false)), InternalError,
                        test::says("wrong number of inputs"));
  BOOST_CHECK_EXCEPTION(add({in[0], in[2], in[2]}, attrs(false)), InternalError, test::says("q, k and v do not fit"));
  const Tensor more = input(c.graph, "more", DType::f64, {2, 4, 6});
  BOOST_CHECK_EXCEPTION(add({more.value(), in[1], in[2]}, attrs(false)), InternalError,
                        test::says("q, k and v do not fit"));
  BOOST_CHECK_EXCEPTION(add({in[0], in[1], in[2]}, attrs(true)), InternalError,
                        test::says("causal, over other positions"));
  BOOST_CHECK_EXCEPTION(add({in[0], in[1], in[2], in[0], in[4]}, attrs(false)), InternalError,
                        test::says("lengths do not fit"));
  BOOST_CHECK_EXCEPTION(add({in[0], in[1], in[2]}, Attrs(attrs(false)).set("heads", int64_t{5})), InternalError,
                        test::says("heads do not divide"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::flash_attention_test
