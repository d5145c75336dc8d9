// Tests recurrent layers of two directions, samples of several lengths, and states that are given and returned.
#include <boost/test/unit_test.hpp>

#include "graph/recurrent.h"
#include "tests/graph/interpreted.h"
#include "tests/support/says.h"

namespace kb::interpreter_test {
namespace {

constexpr int64_t kN = 3, kT = 4, kI = 2, kF = 2;

using Layer = RecurrentResult (*)(const std::string&, Tensor, int64_t, const RecurrentOptions&, Where);
constexpr Layer kLayers[] = {lstm_with_states, gru_with_states};

RecurrentResult made(Layer layer, const std::string& name, Tensor x, const RecurrentOptions& options = {}) {
  return layer(name, x, kF, options, Where::current());
}

// Returns sample n of x [N, ...] with the first `steps` of axis 1, whose lengths no other sample shares.
Tensor sample(Tensor x, int64_t n, int64_t steps) { return slice(slice(x, 0, n, n + 1), 1, 0, steps); }

// Checks that two tensors have the same values.
void check_equal(const Case& c, Tensor got, Tensor expected) {
  const Array values = c.value(expected);
  c.check(got, values.type.shape, values.data, 1e-14);
}

// Gives the parameters of layer 0 under `other` the values of those under `name`, in direction "_reverse" or "".
void copy_parameters(Case& c, const std::string& name, const std::string& direction, const std::string& other) {
  for (const std::string part : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"})
    c.bindings[other + "." + part] = c.bindings.at(name + "." + part + direction);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recurrent_states)

// Each direction of a layer without padding is a layer of one direction over a sample's own steps in its order.
BOOST_AUTO_TEST_CASE(directions_over_samples_of_several_lengths) {
  const int64_t lengths[] = {4, 2, 1};
  for (const Layer layer : kLayers) {
    Case c({wave({kN, kT, kI}), array({kN}, {7, 2, 1}, DType::i32)});
    const RecurrentResult both = made(layer, "net", c.x[0], {.bidirectional = true, .lengths = c.x[1]});
    BOOST_TEST(both.output.shape() == (Dims{kN, kT, 2 * kF}));
    BOOST_TEST(both.hidden.shape() == (Dims{2, kN, kF}));
    std::vector<Tensor> got, expected;
    for (int64_t n = 0; n < kN; ++n) {
      const std::string at = std::to_string(n);
      const Tensor x = sample(c.x[0], n, lengths[n]);
      const RecurrentResult there = made(layer, "there" + at, x), back = made(layer, "back" + at, flip(x, {1}));
      const Tensor output = concat({there.output, flip(back.output, {1})}, 2);
      got.push_back(slice(both.output, 0, n, n + 1));
      expected.push_back(pad(output, {0, 0, 0}, {0, kT - lengths[n], 0}));
      got.push_back(slice(both.hidden, 1, n, n + 1));
      expected.push_back(concat({there.hidden, back.hidden}, 0));
      if (!both.cell.valid()) continue;
      got.push_back(slice(both.cell, 1, n, n + 1));
      expected.push_back(concat({there.cell, back.cell}, 0));
    }
    for (const auto& [name, value] : random_bindings(c.graph, 3)) c.bindings.emplace(name, value);
    for (int64_t n = 0; n < kN; ++n) {
      copy_parameters(c, "net", "", "there" + std::to_string(n));
      copy_parameters(c, "net", "_reverse", "back" + std::to_string(n));
    }
    for (size_t i = 0; i < got.size(); ++i) check_equal(c, got[i], expected[i]);
  }
}

// A sequence in two parts, the second of which begins with the states of the first, is the whole one. States
// stay as they are where the second part has no step.
BOOST_AUTO_TEST_CASE(states_go_on) {
  for (const Layer layer : kLayers) {
    Case c({wave({kN, kT, kI})});
    const Tensor none = constant(c.graph, DType::i32, {kN}, {0, 0, -1});
    const RecurrentResult whole = made(layer, "net", c.x[0], {.layers = 2});
    const Reuse again("");
    const RecurrentResult begin = made(layer, "net", slice(c.x[0], 1, 0, 3), {.layers = 2});
    RecurrentOptions options{.layers = 2, .hidden = begin.hidden, .cell = begin.cell};
    const RecurrentResult end = made(layer, "net", slice(c.x[0], 1, 3, 4), options);
    options.lengths = none;
    const RecurrentResult stays = made(layer, "net", c.x[0], options);
    for (const auto& [name, value] : random_bindings(c.graph, 3)) c.bindings.emplace(name, value);
    check_equal(c, concat({begin.output, end.output}, 1), whole.output);
    check_equal(c, end.hidden, whole.hidden);
    check_equal(c, stays.hidden, begin.hidden);
    check_equal(c, stays.output, full_like(whole.output, 0));
    if (!whole.cell.valid()) continue;
    check_equal(c, end.cell, whole.cell);
    check_equal(c, stays.cell, begin.cell);
  }
}

BOOST_AUTO_TEST_CASE(parameters_of_the_second_direction) {
  Case c({wave({kN, kT, kI})});
  gru("net", c.x[0], kF, {.layers = 2, .bidirectional = true});
  std::string names;
  for (const Variable& v : c.graph.variables)
    if (v.name.find("weight") != std::string::npos) names += v.name + " " + to_string(v.type) + "\n";
  BOOST_TEST(names ==
             "net.weight_ih_l0 f64[O=6,I=2]\nnet.weight_hh_l0 f64[O=6,I=2]\n"
             "net.weight_ih_l0_reverse f64[O=6,I=2]\nnet.weight_hh_l0_reverse f64[O=6,I=2]\n"
             "net.weight_ih_l1 f64[O=6,I=4]\nnet.weight_hh_l1 f64[O=6,I=2]\n"
             "net.weight_ih_l1_reverse f64[O=6,I=4]\nnet.weight_hh_l1_reverse f64[O=6,I=2]\n");
}

BOOST_AUTO_TEST_CASE(states_and_lengths_that_do_not_fit) {
  Case c({wave({kN, kT, kI}), wave({1, kN, kF}), array({kT}, {1, 1, 1, 1}, DType::i32)});
  const Tensor x = c.x[0], states = c.x[1];
  const auto refuses = [&](const char* name, auto layer, const RecurrentOptions& options, const char* text) {
    BOOST_CHECK_EXCEPTION(layer(name, x, kF, options, Where::current()), Error, test::says(text));
  };
  refuses("a", gru, {.lengths = c.x[2]}, "lengths do not fit x");
  refuses("b", gru, {.bidirectional = true, .hidden = states}, "expected: f64[2,3,2]");
  refuses("c", gru, {.hidden = states, .cell = states}, "gru: a layer without a cell");
  refuses("d", lstm, {.hidden = states}, "lstm: one of two states");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::interpreter_test
