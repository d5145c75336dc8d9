// Tests which values recompute computes again, where the second computation stands, and that memory is saved.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>

#include "compiler/pipeline/check_passes.h"
#include "graph/layers.h"
#include "graph/text.h"
#include "tests/support/compile_check.h"

namespace kb::recompute_test {

namespace {

CompileOptions with_sgd() {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.target.library_isa = "avx512";
  options.groups = {{.rule = test::plain_sgd()}};
  return options;
}

// Four convolutions, each with batch norm or with a bias.
Graph layers(bool norm) {
  Graph g("layers");
  Tensor x = cast(input(g, "x", DType::u8, {2, 16, 8, 8}, "NCHW"), DType::f32);
  for (const char* layer : {"1", "2", "3", "4"}) {
    const Scope scope(layer);
    x = conv2d("conv", x, 16, {.kernel = 3, .padding = 1, .bias = !norm});
    x = relu(norm ? batch_norm("bn", x) : x);
  }
  Tensor y = global_avg_pool(x);
  for (int i = 0; i < 40; ++i) y = tanh(y * 1.5);
  g.outputs.push_back({"loss", sum(y * y).value(), Merge::sum});
  return g;
}

// Returns how many activations are computed again.
size_t recomputed(Graph g) {
  const CompileOptions options = with_sgd();
  CompileState state{options, {}, {}};
  for (const Pass pass : {differentiate, add_optimizer, simplify}) g = pass(std::move(g), state);
  const Graph after = recompute(g, state);
  verify(after);
  check_pass("recompute", g, after, state);
  return state.recomputed.size();
}

constexpr int kLong = 80;  // nodes of a pause that is long enough

// A value that is read at once, and by a product after each of these pauses.
struct Case {
  std::function<Tensor(Tensor x)> value = [](Tensor x) { return relu(x); };
  std::function<Tensor(Tensor v)> early = [](Tensor v) {
    return convolution(v, input(v.graph(), "w", DType::f32, {16, v.size(1), 1, 1}), {{1, 1}});
  };
  Dims shape = {2, 16, 8, 8};
  std::vector<int> pauses = {kLong};                          // in nodes
  std::function<Tensor()> at_last = [] { return Tensor(); };  // gives one more output
};

struct Built {
  Graph graph{"again"};
  Value value;
};

std::unique_ptr<Built> build(const Case& c) {
  auto built = std::make_unique<Built>();
  const Tensor v = c.value(input(built->graph, "x", DType::f32, c.shape));
  Tensor link = sum(c.early(v));
  for (const int pause : c.pauses) {
    for (int i = 0; i < pause; ++i) link = tanh(link);
    built->graph.outputs.push_back({"late" + std::to_string(pause), sum(v * link).value(), Merge::sum});
  }
  if (const Tensor last = c.at_last(); last.valid())
    built->graph.outputs.push_back({"last", sum(last).value(), Merge::sum});
  built->value = v.value();
  return built;
}

// Returns the numbers of the nodes that read a value.
std::vector<int32_t> readers(const Graph& graph, Value value) {
  std::vector<int32_t> result;
  for (int32_t n = 0; n < std::ssize(graph.nodes); ++n)
    if (std::ranges::count(graph.nodes[static_cast<size_t>(n)].inputs, value) > 0) result.push_back(n);
  return result;
}

Graph after_recompute(const Graph& graph, size_t& again) {
  const CompileOptions options = with_sgd();
  CompileState state{options, {}, {}};
  Graph after = recompute(graph, state);
  verify(after);
  check_pass("recompute", graph, after, state);
  again = state.recomputed.size();
  return after;
}

bool is_again(const Case& c) {
  size_t again = 0;
  after_recompute(build(c)->graph, again);
  BOOST_TEST(again <= 1u);
  return again == 1;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recompute_pass)

// The gradient of a batch norm needs its input, from which the activation behind it is computed again. Nothing needs a
// convolution's result beside the relu behind it, in whose place it would be kept. The images are an input of the step.
BOOST_AUTO_TEST_CASE(activations_are_computed_again_from_what_lives_anyway) {
  BOOST_TEST(recomputed(layers(true)) == 4u);
  BOOST_TEST(recomputed(layers(false)) == 1u);
}

BOOST_AUTO_TEST_CASE(steps_need_less_memory) {
  CompileOptions options = with_sgd();
  const auto bytes = [&](bool again) {
    options.recompute = again;
    return compile(layers(true), options).program.at(PartRole::final).liveness_bound_bytes;
  };
  BOOST_TEST(bytes(true) < bytes(false));
}

// A pause is long if its ends are more than 64 nodes apart.
BOOST_AUTO_TEST_CASE(only_after_a_long_pause) {
  int again = 0;
  for (int pause = 55; pause < 66; ++pause) {
    const Case c{.pauses = {pause}};
    const std::unique_ptr<Built> built = build(c);
    const std::vector<int32_t> at = readers(built->graph, built->value);
    BOOST_REQUIRE(at.size() == 2u);
    BOOST_TEST(is_again(c) == (at[1] - at[0] > 64));
    again += is_again(c);
  }
  BOOST_TEST((again > 0 && again < 11));
}

// Samples of 1024 elements or more are large enough for a launch, and only what a library or a window op reads is kept.
BOOST_AUTO_TEST_CASE(only_large_values_that_are_kept) {
  BOOST_TEST(is_again({}));
  BOOST_TEST(!is_again({.shape = {2, 1023, 1, 1}}));
  BOOST_TEST(is_again({.early = [](Tensor v) { return max_pool2d(v, {.kernel = 2}); }}));
  BOOST_TEST(!is_again({.early = [](Tensor v) { return sum(v, {1}); }}));
}

// Cheap are point-wise ops without a math function and broadcasts, up to 24 of them, of one large value and of values
// that are 16 times smaller or more.
BOOST_AUTO_TEST_CASE(only_cheap_values) {
  const auto more = [](Tensor x, const Dims& shape) { return input(x.graph(), "more", DType::f32, shape); };
  BOOST_TEST(is_again({.value = [](Tensor x) { return x * 0.5 + 1.0; }}));
  BOOST_TEST(!is_again({.value = [](Tensor x) { return exp(x); }}));
  BOOST_TEST(!is_again({.value = [&](Tensor x) { return relu(x + more(x, {2, 16, 8, 8})); }}));
  BOOST_TEST(is_again({.value = [&](Tensor x) { return x * x + more(x, {1, 16, 1, 1}); }}));
  BOOST_TEST(is_again({.value = [&](Tensor x) { return x * more(x, {2, 1, 8, 8}); }}));
  BOOST_TEST(!is_again({.value = [&](Tensor x) { return x * more(x, {2, 1, 8, 16}); }, .shape = {2, 8, 8, 16}}));
  BOOST_TEST(!is_again({.value = [](Tensor x) { return broadcast_to(slice(x, 0, 0, 1), {2, 16, 8, 8}); }}));
  for (const int length : {24, 25}) {
    const auto chain = [&](Tensor x) {
      for (int i = 0; i < length; ++i) x = neg(x);
      return x;
    };
    BOOST_TEST(is_again({.value = chain}) == (length == 24));
  }
}

// A source that a launch writes has to be in memory anyway: something else reads it late, or what is computed from it.
BOOST_AUTO_TEST_CASE(only_what_follows_from_living_values) {
  Tensor source, copy;
  const auto of_convolution = [&](Tensor x) {
    source = convolution(x, input(x.graph(), "u", DType::f32, {16, 16, 1, 1}), {{1, 1}});
    copy = abs(source);
    return relu(source);
  };
  BOOST_TEST(!is_again({.value = of_convolution}));
  BOOST_TEST(is_again({.value = of_convolution, .at_last = [&] { return source * 0.5; }}));
  BOOST_TEST(is_again({.value = of_convolution, .at_last = [&] { return copy; }}));
  const auto of_pool = [&](Tensor x) { return relu(max_pool2d(x, {.kernel = 2})); };
  BOOST_TEST(!is_again({.value = of_pool, .shape = {2, 16, 16, 16}}));
}

// The value is kept over the shorter of two pauses, and computed again for all who read it after the longer.
BOOST_AUTO_TEST_CASE(the_longest_pause_is_bridged) {
  for (const std::vector<int>& pauses : {std::vector{kLong, 2 * kLong}, {2 * kLong, kLong}}) {
    const std::unique_ptr<Built> built = build({.pauses = pauses});
    size_t again = 0;
    const Graph after = after_recompute(built->graph, again);
    BOOST_TEST(again == 1u);
    const auto first = std::ranges::find(after.nodes, Op::relu, &Node::op);
    BOOST_TEST(readers(after, {static_cast<int32_t>(first - after.nodes.begin()), 0}).size() ==
               (pauses[0] < pauses[1] ? 2u : 1u));
    BOOST_TEST(std::ranges::count(after.nodes, Op::relu, &Node::op) == 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::recompute_test
