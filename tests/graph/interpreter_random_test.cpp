// Tests the interpreter's random numbers and initial values, and interprets random graphs.
#include "tests/graph/interpreted.h"

#include <boost/test/unit_test.hpp>

namespace kb::interpreter_test {

BOOST_AUTO_TEST_SUITE(interpreter_random)

// The numbers are the known answers that Random123 1.14 has for philox4x32 of 10 rounds, in its file kat_vectors.
BOOST_AUTO_TEST_CASE(philox_known_answers) {
  const auto check = [](const uint32_t(&counter)[4], const uint32_t(&key)[2], const uint32_t(&expected)[4]) {
    for (size_t i = 0; i < 4; ++i) BOOST_TEST(philox(counter, key).word[i] == expected[i]);
  };
  check({0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  BOOST_TEST(fnv1a32("") == 0x811c9dc5u);
  BOOST_TEST(fnv1a32("foobar") == 0xbf9cf968u);
}

// The bits of a sample depend on its number in the whole minibatch alone: two workers with two samples each draw the
// bits that one worker with four samples draws.
BOOST_AUTO_TEST_CASE(random_bits_do_not_see_the_split) {
  const auto draw = [](int64_t samples, double worker) {
    Graph g("bits");
    const Tensor bits = random_bits(g, "stream", {samples, 3, 5});
    const auto scalar = [](double v) { return array({}, {v}, DType::u32); };
    const Value v = bits.value();
    return interpret_values(g, {{"step", scalar(9)}, {"worker", scalar(worker)}, {"seed", scalar(4)}},
                            std::span(&v, 1))[0]
        .data;
  };
  Reals two = draw(2, 0);
  const Reals second = draw(2, 1);
  two.insert(two.end(), second.begin(), second.end());
  BOOST_TEST(two == draw(4, 0));
  const uint32_t counter[4] = {7, 3, 9, 0}, key[2] = {4, fnv1a32("stream")};
  BOOST_TEST(two[3 * 15 + 7] == philox(counter, key).word[0]);
}

BOOST_AUTO_TEST_CASE(initial_values) {
  Variable v;
  v.name = "conv1.weight";
  v.type = {DType::f32, {30000}, ""};
  v.init = {InitKind::normal, 1, 2};
  const Array normal = initial_value(v, 7);
  double mean = 0, square = 0, fourth = 0;
  for (const double x : normal.data) {
    const double z = (x - 1) / 2;
    mean += z / 30000;
    square += z * z / 30000;
    fourth += z * z * z * z / 30000;
  }
  // Five standard deviations of the three estimators.
  BOOST_TEST(std::abs(mean) < 5 / std::sqrt(30000.0));
  BOOST_TEST(std::abs(square - 1) < 5 * std::sqrt(2 / 30000.0));
  BOOST_TEST(std::abs(fourth - 3) < 5 * std::sqrt(96 / 30000.0));
  BOOST_TEST(initial_value(v, 7).data == normal.data);
  BOOST_TEST(initial_value(v, 8).data[0] != normal.data[0]);

  v.type.shape = {5};
  const Array head = initial_value(v, 7);
  for (size_t i = 0; i < 5; ++i) BOOST_TEST(head.data[i] == normal.data[i]);
  v.name = "conv2.weight";
  BOOST_TEST(initial_value(v, 7).data[0] != head.data[0]);

  v.init = {InitKind::uniform, -0.5, 0.25};
  v.type.shape = {20000};
  const Array uniform = initial_value(v, 7);
  const auto [low, high] = std::minmax_element(uniform.data.begin(), uniform.data.end());
  BOOST_TEST((*low >= -0.5 && *low < -0.499 && *high <= 0.25 && *high > 0.249));
  v.init = {InitKind::constant, 3, 0};
  BOOST_TEST(initial_value(v, 7).data[19999] == 3.0);
}

// The interpreter computes the logarithm, sine and cosine of its Box-Muller transform by series of its own; the results
// agree with the C library's.
BOOST_AUTO_TEST_CASE(normal_pairs_agree_with_the_library) {
  Variable normal{"w", {DType::f64, {2000}, ""}, VariableKind::parameter, Role::weight, {InitKind::normal, 0, 1}, {}};
  Variable uniform = normal;
  uniform.init = {InitKind::uniform, 0, 1};
  const Reals z = initial_value(normal, 3).data, u = initial_value(uniform, 3).data;
  for (size_t i = 0; i < z.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(u[i] + 0x1p-53)), angle = 2 * M_PI * u[i + 1];
    BOOST_TEST(std::abs(z[i] - radius * std::cos(angle)) < 1e-14 * (1 + radius));
    BOOST_TEST(std::abs(z[i + 1] - radius * std::sin(angle)) < 1e-14 * (1 + radius));
  }
}

BOOST_AUTO_TEST_CASE(random_bindings_suit_their_use) {
  Graph g("indices");
  const Tensor rows = input(g, "rows", DType::i32, {200}, ""), labels = input(g, "labels", DType::i32, {200}, "");
  const Tensor other = input(g, "other", DType::u8, {200}, "");
  scalar_input(g, "lr");
  gather(input(g, "table", DType::f32, {7, 2}, ""), rows);
  one_hot(labels, 11);
  const Bindings bindings = random_bindings(g, 1);
  const auto largest = [&](const char* name) {
    const Reals& data = bindings.at(name).data;
    BOOST_TEST(*std::min_element(data.begin(), data.end()) == 0);
    return *std::max_element(data.begin(), data.end());
  };
  BOOST_TEST(largest("rows") == 6);
  BOOST_TEST(largest("labels") == 10);
  BOOST_TEST(largest("other") == 3);
  BOOST_TEST((bindings.at("lr").data[0] > 0 && bindings.at("lr").data[0] < 1));
  (void)other;
}

BOOST_AUTO_TEST_CASE(random_graphs_give_finite_values) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = test::random_graph(seed, {.smooth = seed % 3 == 0});
    const Interpretation result = interpret(graph, random_bindings(graph, seed));
    const auto finite = [](const auto& named) {
      for (const double v : named.second.data) {
        if (!(std::abs(v) < 1e6)) return false;
      }
      return true;
    };
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(std::all_of(result.outputs.begin(), result.outputs.end(), finite));
      BOOST_TEST(std::all_of(result.writes.begin(), result.writes.end(), finite));
    }
  }
}

BOOST_AUTO_TEST_CASE(random_graphs_meet_every_op) {
  std::set<std::string_view> missing;
  for (const OpInfo& row : all_ops()) missing.insert(row.name);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    for (const Node& node : test::random_graph(seed).nodes) missing.erase(name(node.op));
  }
  // Only passes make these ops, and the sort of long rows.
  const std::set<std::string_view> expected = {
      "all_reduce", "carry",     "extent",       "flash_attention", "flash_attention_grad", "max_pool_grad",
      "order_key",  "pack_bits", "pack_weights", "sum_pool_grad",   "take_at_index",        "unpack_bits"};
  BOOST_TEST(missing == expected);
}

// Rounding to f32 moves the values of a random graph a little, and no comparison in it turns out otherwise. Tests that
// compare backends on random graphs rely on this.
BOOST_AUTO_TEST_CASE(random_graphs_are_well_conditioned) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = test::random_graph(seed);
    const auto low = [](const Node& node) { return is_low_precision(node.type().dtype); };
    if (std::any_of(graph.nodes.begin(), graph.nodes.end(), low)) continue;
    const Bindings bindings = random_bindings(graph, seed);
    const Interpretation rounded = interpret(graph, bindings), exact = interpret(graph, bindings, {.round = false});
    for (const auto& [name, array] : rounded.outputs) {
      const Reals& reference = exact.outputs.at(name).data;
      double scale = 1, error = 0;
      for (size_t i = 0; i < reference.size(); ++i) {
        scale = std::max(scale, std::abs(reference[i]));
        error = std::max(error, std::abs(reference[i] - array.data[i]));
      }
      BOOST_TEST(error <= 1e-5 * scale, "seed " << seed << ": " << name << " moves by " << error / scale);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::interpreter_test
