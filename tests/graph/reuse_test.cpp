// Tests Reuse, under which a model function calls a sub-network a second time.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "graph/interpreter.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "graph/text.h"
#include "tests/support/says.h"

namespace kb::reuse_test {
namespace {

using test::says;

constexpr int64_t kSamples = 6, kChannels = 4;

struct Two {
  Graph graph;
  Tensor a, b;

  explicit Two(Mode mode = Mode::training) : graph("twice", mode) {
    a = input(graph, "a", DType::f64, {kSamples, kChannels}, "NC");
    b = input(graph, "b", DType::f64, {kSamples, kChannels}, "NC");
  }

  // Makes the results of `net` outputs: its result for a, under Scope, and its result for b, under Reuse.
  template <class Net>
  void call(Net&& net) {
    {
      const Scope scope("net");
      graph.outputs.push_back({"a", net(a).value(), Merge::per_sample});
    }
    const Reuse again("net");
    graph.outputs.push_back({"b", net(b).value(), Merge::per_sample});
  }

  Bindings bindings() const {
    Bindings result = random_bindings(graph, 3);
    for (const Variable& variable : graph.variables) result[variable.name] = initial_value(variable, 1);
    return result;
  }
};

double mean_of(const Array& x, int64_t channel) {
  double sum = 0;
  for (int64_t n = 0; n < kSamples; ++n) sum += x.data.at(static_cast<size_t>(n * kChannels + channel));
  return sum / kSamples;
}

std::string text_of(const Graph& graph) { return to_text(graph); }

}  // namespace

BOOST_AUTO_TEST_SUITE(reuse)

BOOST_AUTO_TEST_CASE(a_second_call_has_the_parameters_of_the_first) {
  Two two;
  two.call([](const Tensor& x) {
    const Scope inner("head");
    return linear("fc", x, 3);
  });
  BOOST_REQUIRE(two.graph.variables.size() == 2u);
  BOOST_TEST(two.graph.variables[0].name == "net.head.fc.weight");
  Bindings given = two.bindings();
  given["b"] = given.at("a");
  const Interpretation result = interpret(two.graph, given);
  BOOST_TEST(result.outputs.at("a").data == result.outputs.at("b").data);
}

// A function that opens its own scope is called again under the name "", inside of another scope, too.
BOOST_AUTO_TEST_CASE(an_empty_name_reuses_the_open_scope) {
  const auto net = [](const Tensor& x) {
    const Scope own("head");
    return linear("fc", x, 3);
  };
  Two two;
  const Scope outer("net");
  net(two.a);
  {
    const Reuse again("");
    BOOST_TEST(scope_path() == "net");
    net(two.b);
  }
  BOOST_TEST(two.graph.variables.size() == 2u);
}

BOOST_AUTO_TEST_CASE(each_call_draws_masks_of_its_own) {
  const auto net = [](const Tensor& x) { return dropout("drop", x, 0.5); };
  Two two;
  two.call(net);
  Bindings given = two.bindings();
  for (const char* name : {"a", "b"}) given[name].data.assign(kSamples * kChannels, 1);
  const Interpretation result = interpret(two.graph, given);
  BOOST_TEST(result.outputs.at("a").data != result.outputs.at("b").data);
  BOOST_TEST(two.graph.has_random_stream("net.drop"));
  BOOST_TEST(two.graph.has_random_stream("net.drop#2"));
  const Reuse third("net");
  net(two.b);
  BOOST_TEST(two.graph.has_random_stream("net.drop#3"));
}

// The second call updates the statistics that the first one left, as two calls of a module do in PyTorch.
BOOST_AUTO_TEST_CASE(running_statistics_go_through_both_calls) {
  Two two;
  two.call([](const Tensor& x) { return batch_norm("bn", x, {.momentum = 0.25}); });
  const Bindings given = two.bindings();
  const Interpretation result = interpret(two.graph, given);
  BOOST_REQUIRE(two.graph.writes.size() == 2u);
  for (int64_t c = 0; c < kChannels; ++c) {
    const double expected = 0.75 * 0.25 * mean_of(given.at("a"), c) + 0.25 * mean_of(given.at("b"), c);
    BOOST_TEST(std::abs(result.writes.at("net.bn.running_mean").data.at(static_cast<size_t>(c)) - expected) < 1e-12);
  }
  Two inference(Mode::inference);
  inference.call([](const Tensor& x) { return batch_norm("bn", x); });
  BOOST_TEST(inference.graph.writes.empty());
  BOOST_TEST(inference.graph.variables.size() == 4u);
}

BOOST_AUTO_TEST_CASE(without_reuse_a_second_variable_or_stream_is_an_error) {
  Two two;
  const Scope scope("net");
  linear("fc", two.a, 3);
  dropout("drop", two.a, 0.5);
  BOOST_CHECK_EXCEPTION(linear("fc", two.b, 3), Error, says("'net.fc.weight' exists already"));
  BOOST_CHECK_EXCEPTION(dropout("drop", two.b, 0.5), Error, says("stream 'net.drop' exists already"));
}

BOOST_AUTO_TEST_CASE(what_was_not_made_before_or_is_another_is_an_error) {
  Two two;
  {
    const Scope scope("net");
    linear("fc", two.a, 3);
    batch_norm("bn", two.a);
  }
  const std::string before = text_of(two.graph);
  {
    const Reuse again("net");
    BOOST_CHECK_EXCEPTION(linear("other", two.b, 3), Error,
                          says("parameter: 'net.other.weight' is not there to be used again", "in net.other"));
    BOOST_CHECK_EXCEPTION(linear("fc", two.b, 5), Error,
                          says("'net.fc.weight' is used again as another one", "f64[O=3,I=4]", "f64[O=5,I=4]"));
    BOOST_CHECK_EXCEPTION(parameter(two.graph, "bn.weight", Role::bias, {DType::f64, {kChannels}, "C"}, {}), Error,
                          says("of role norm_scale", "of role bias"));
    BOOST_CHECK_EXCEPTION(linear("fc", two.b, 3, {.rate = 0.5}), Error,
                          says("'net.fc.weight' is used again as another one", "of role weight, rate 0.5"));
  }
  const Reuse nowhere("nothing");
  BOOST_CHECK_EXCEPTION(batch_norm("bn", two.b), Error, says("'nothing.bn.weight' is not there"));
  BOOST_TEST(text_of(two.graph).starts_with(before.substr(0, before.find("nodes"))));
}

BOOST_AUTO_TEST_CASE(statistics_over_minibatches_want_one_call) {
  Two two(Mode::statistics);
  BOOST_CHECK_EXCEPTION(two.call([](const Tensor& x) { return batch_norm("bn", x); }), Error,
                        says("one call of each batch_norm in Mode::statistics"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::reuse_test
